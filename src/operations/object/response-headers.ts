/** `response-…`: headers that the asker wants on the answer in place of the stored ones. */
import { invalidArgument } from '../inputs.ts'
import type { Decoder, Header } from '../operation.ts'

const NAMES = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
].map(name => [name, `response-${name}`] as const)

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

export const responseHeaders: Decoder<readonly Header[]> = {
  decode(request) {
    const headers: Header[] = []
    for (const [name, parameter] of NAMES) {
      const value = request.query(parameter)
      if (value === undefined) continue
      // A line end would begin a header of the asker's making.
      if (CONTROL.test(value)) throw invalidArgument(parameter, value)
      // Header values go out a character per byte.
      headers.push([name, Buffer.from(value, 'utf8').toString('latin1')])
    }
    return headers
  },
}
