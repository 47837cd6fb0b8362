package sampling

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// contentChecks are the checks of the content of requested messages.
var contentChecks = check.Suite{
	"sampling/content-types": schemaCheck("sampling/content-types", "request for a message came",
		"blocks of the types that messages may have in the revision", isAny),

	"sampling/binary-base64": check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		some := func(q client.ServerRequest) bool { return len(mediaIn(q.Params)) > 0 }
		eachRequest(t, w, "request with an image or audio came", some, func(t *check.T, q client.ServerRequest) {
			for _, block := range mediaIn(q.Params) {
				toolcall.ExpectMedia(t, block, block["type"].(string)+"/")
			}
		})
	}),
}

// mediaIn returns the images and the audio in messages, including those in tool results.
func mediaIn(params check.M) (media []check.M) {
	for _, message := range protocol.ObjectsIn(params["messages"]) {
		all := contentBlocks(message["content"])
		for _, result := range blocksOfType(all, "tool_result") {
			all = append(all, contentBlocks(result["content"])...)
		}
		media = append(media, append(blocksOfType(all, "image"), blocksOfType(all, "audio")...)...)
	}
	return media
}
