/**
 * Reads multipart/form-data as browsers post it: some fields, then one file. Fields are small and buffered; the file is
 * streamed. Everything that can repeat or grow has a limit.
 */

export type FormProblem = 'malformed' | 'fields too long' | 'no file'

export class BadForm extends Error {
  readonly problem: FormProblem

  constructor(problem: FormProblem, message: string) {
    super(message)
    this.name = 'BadForm'
    this.problem = problem
  }
}

export const FORM_LIMITS = {
  /** The total of all fields before the file. */
  fieldBytesMax: 20 * 1024,
  fieldsMax: 200,
  partHeaderBytesMax: 4 * 1024,
  /** Bytes after the file are read and ignored, so that the connection can be reused. */
  restBytesMax: 64 * 1024,
  preambleBytesMax: 1024,
} as const

export interface Form {
  /** The fields before the file, in the order sent. */
  readonly fields: readonly (readonly [string, string])[]
  /** The client's name for the file, without folders. */
  readonly fileName: string
  /** Throws BadForm if the form ends inside the file. */
  readonly file: AsyncIterable<Buffer>
}

const CONTENT_TYPE = /^multipart\/form-data[ \t]*(?:;|$)/i
const BOUNDARY = /;[ \t]*boundary=(?:"([^"]*)"|([^\s;"]+))/i
const BOUNDARY_SHAPE = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/

export const isFormType = (contentType: string): boolean => CONTENT_TYPE.test(contentType.trim())

export function boundaryOf(contentType: string): string {
  const match = BOUNDARY.exec(contentType)
  const boundary = match?.[1] ?? match?.[2] ?? ''
  if (!BOUNDARY_SHAPE.test(boundary)) throw new BadForm('malformed', 'no boundary, or one that cannot be')
  return boundary
}

/** Reads a body up to a delimiter without buffering more than its caller allows. */
class Source {
  readonly #chunks: AsyncIterator<Buffer>
  #held: Buffer
  #ended = false

  constructor(body: AsyncIterable<Buffer>, lead: Buffer) {
    this.#chunks = body[Symbol.asyncIterator]()
    this.#held = lead
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false
    const { done, value } = await this.#chunks.next()
    if (done === true) this.#ended = true
    else this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value])
    return done !== true
  }

  /** Returns the bytes before the delimiter and consumes both. */
  async before(mark: Buffer, bytesMax: number, tooLong: () => BadForm): Promise<Buffer> {
    for (let from = 0; ; ) {
      const found = this.#held.indexOf(mark, from)
      if (found > bytesMax || (found < 0 && this.#held.length > bytesMax + mark.length)) throw tooLong()
      if (found >= 0) {
        const bytes = this.#held.subarray(0, found)
        this.#held = this.#held.subarray(found + mark.length)
        return bytes
      }
      from = Math.max(0, this.#held.length - mark.length + 1)
      if (!(await this.#more())) throw new BadForm('malformed', 'the form ends too early')
    }
  }

  /** Like `before`, but streaming. */
  async *streamBefore(mark: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const found = this.#held.indexOf(mark)
      if (found >= 0) {
        const bytes = this.#held.subarray(0, found)
        this.#held = this.#held.subarray(found + mark.length)
        if (bytes.length > 0) yield bytes
        return
      }
      // The last bytes may be the start of the delimiter.
      const safe = Math.max(0, this.#held.length - mark.length + 1)
      const bytes = this.#held.subarray(0, safe)
      this.#held = this.#held.subarray(safe)
      if (bytes.length > 0) yield bytes
      if (!(await this.#more())) throw new BadForm('malformed', 'the form ends inside the file')
    }
  }

  async skipRest(bytesMax: number): Promise<void> {
    for (let skipped = this.#held.length; skipped <= bytesMax; skipped += this.#held.length) {
      this.#held = Buffer.alloc(0)
      if (!(await this.#more())) return
    }
  }
}

const NEWLINE = Buffer.from('\r\n')
const HEADER_END = Buffer.from('\r\n\r\n')

interface PartHead {
  readonly name: string
  readonly fileName: string | undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function text(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new BadForm('malformed', 'a field is not UTF-8')
  }
}

const PARAMETER = /;[ \t]*([^\s=;"]+)=(?:"((?:\\"|[^"])*)"|([^\s;"]+))/g

/** A backslash escapes a quotation mark and nothing else: old browsers send paths with plain backslashes. */
function parameter(line: string, name: string): string | undefined {
  for (const [, sent, quoted, plain] of line.matchAll(PARAMETER)) {
    if (sent!.toLowerCase() === name) return quoted?.replaceAll('\\"', '"') ?? plain
  }
  return undefined
}

function partHead(bytes: Buffer): PartHead {
  const line = text(bytes)
    .split('\r\n')
    .find(one => /^content-disposition[ \t]*:/i.test(one))
  if (line === undefined || !/^[^:]*:[ \t]*form-data[ \t]*;/i.test(line)) {
    throw new BadForm('malformed', 'a part does not say that it is a field')
  }
  const name = parameter(line, 'name')
  if (name === undefined || name === '') throw new BadForm('malformed', 'a field has no name')
  return { name, fileName: parameter(line, 'filename') }
}

/** Old browsers send the whole path. */
const withoutFolders = (name: string): string => name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)

/** Reads the form up to its file. */
export async function readForm(body: AsyncIterable<Buffer>, boundary: string): Promise<Form> {
  // The first boundary has no line end before it; adding one makes it like the others.
  const source = new Source(body, NEWLINE)
  const mark = Buffer.from(`\r\n--${boundary}`)
  const malformed = (what: string) => () => new BadForm('malformed', what)
  await source.before(mark, FORM_LIMITS.preambleBytesMax, malformed('the form does not begin with its boundary'))
  const fields: [string, string][] = []
  for (let left: number = FORM_LIMITS.fieldBytesMax; ; ) {
    const rest = await source.before(NEWLINE, 16, malformed('something follows a boundary'))
    if (rest.toString('latin1').startsWith('--')) throw new BadForm('no file', 'the form has no file')
    if (!/^[ \t]*$/.test(rest.toString('latin1'))) throw new BadForm('malformed', 'something follows a boundary')
    const tooLong = malformed('the head of a part is too long')
    const head = partHead(await source.before(HEADER_END, FORM_LIMITS.partHeaderBytesMax, tooLong))
    if (head.name.toLowerCase() === 'file') {
      return { fields, fileName: withoutFolders(head.fileName ?? ''), file: fileOf(source, mark) }
    }
    const value = await source.before(mark, left, () => new BadForm('fields too long', 'the fields are too long'))
    left -= value.length
    fields.push([head.name, text(value)])
    if (fields.length > FORM_LIMITS.fieldsMax) throw new BadForm('malformed', 'the form has too many fields')
  }
}

async function* fileOf(source: Source, mark: Buffer): AsyncGenerator<Buffer> {
  yield* source.streamBefore(mark)
  await source.skipRest(FORM_LIMITS.restBytesMax)
}
