// The mistake that a hello world is to make is the value of HELLO_MISTAKE.
export function mistake(name, wrong = true, right = false) {
  return process.env.HELLO_MISTAKE === name ? wrong : right;
}
