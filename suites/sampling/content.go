package sampling

import (
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// contents are the checks of what the messages of requests contain.
var contents = Suite{
	"sampling/content-types": shape("sampling/content-types", "request for a message came",
		"blocks of the types that messages may have in the revision", every),

	"sampling/binary-base64": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		some := func(q kit.Question) bool { return len(mediaIn(q.Params)) > 0 }
		judge(t, w, "request with an image or audio came", some, func(t *T, q kit.Question) {
			for _, block := range mediaIn(q.Params) {
				kit.ExpectMedia(t, block, block["type"].(string)+"/")
			}
		})
	}),
}

// mediaIn are the images and the audio in messages, and in the results of tools that these have.
func mediaIn(params M) (media []M) {
	for _, message := range kit.ObjectsIn(params["messages"]) {
		all := blocks(message["content"])
		for _, result := range ofType(all, "tool_result") {
			all = append(all, blocks(result["content"])...)
		}
		media = append(media, append(ofType(all, "image"), ofType(all, "audio")...)...)
	}
	return media
}
