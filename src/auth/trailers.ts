/** Parses the trailers after the last chunk: `name:value` lines, an optional signature and an empty line. */
import { Fault } from '../model/faults.ts'

export const TRAILER_BYTES_MAX = 16 * 1024

interface Trailers {
  readonly values: ReadonlyMap<string, string>
  /** The lines as they are signed. */
  readonly signedText: string
  /** Undefined when none is expected. */
  readonly signature: string | undefined
}

const malformed = (reason: string): Fault => new Fault('MalformedTrailerError', { reason })

const LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([ -~]*?)[ \t]*$/

/**
 * Lines end in LF or CRLF, the signature may follow an empty line, and one or two empty lines end the trailers: the
 * documentation of this encoding contradicts itself, and existing clients follow each reading of it.
 */
function linesOf(text: string): string[] | undefined {
  const lines = text.split('\n').map(line => (line.endsWith('\r') ? line.slice(0, -1) : line))
  let end = lines.length
  while (end > 0 && lines[end - 1] === '') end--
  // Splitting leaves an empty string after the last line end; empty lines add to it.
  const empty = lines.length - end - 1
  return empty < 1 || empty > 2 ? undefined : lines.slice(0, end)
}

/** Undefined when the text stops before its end. */
export function parseTrailers(
  text: string,
  expected: { readonly declared: ReadonlySet<string>; readonly signatureName: string | undefined },
): Trailers | undefined {
  const lines = linesOf(text)
  if (lines === undefined) return undefined
  const values = new Map<string, string>()
  let signedText = ''
  let signature: string | undefined
  for (const [index, line] of lines.entries()) {
    const isBeforeSignature = expected.signatureName !== undefined && index === lines.length - 2
    if (line === '' && isBeforeSignature) continue
    const found = LINE.exec(line)
    if (found === null) throw malformed('A trailer is not a name and a value.')
    const name = found[1]!.toLowerCase()
    const value = found[2]!
    if (name === expected.signatureName && index === lines.length - 1) {
      signature = value
      continue
    }
    if (!expected.declared.has(name)) throw malformed('A trailer was sent that was not declared.')
    if (values.has(name)) throw malformed('A trailer was sent twice.')
    values.set(name, value)
    signedText += `${name}:${value}\n`
  }
  if (values.size !== expected.declared.size) throw malformed('A trailer was declared and not sent.')
  if (expected.signatureName !== undefined && signature === undefined) throw malformed('The signature is missing.')
  return { values, signedText, signature }
}
