/**
 * A posted form as a request: its fields replace headers, its file the body, and its policy the signature. From there
 * on it takes the path of every request.
 */
import type { Authenticated, Authentication } from '../auth/authentication.ts'
import type { LengthRange } from '../auth/policy-document.ts'
import { authenticatePost } from '../auth/post-policy.ts'
import { BadForm, boundaryOf, type Form, type FormProblem, isFormType, readForm } from '../http/form-data.ts'
import { canBeHeader, headerValues, type RawRequest } from '../http/raw-request.ts'
import { BadXml } from '../lib/xml.ts'
import { parseXml } from '../lib/xml-reader.ts'
import { Fault } from '../model/faults.ts'
import type { IncomingBody } from '../operations/context.ts'
import { readTagDocument } from '../rules/tags.ts'
import { DIALECTS, type Dialect, dialectOf, mixedDialects } from './dialect.ts'

interface PostedForm {
  readonly dialect: Dialect
  /** The request with the form's fields as headers. */
  readonly request: RawRequest
  readonly key: string
  readonly fields: Form['fields']
  readonly file: AsyncIterable<Buffer>
}

const FAULT_OF: Readonly<Record<FormProblem, () => Fault>> = {
  malformed: () => new Fault('MalformedPOSTRequest'),
  'fields too long': () => new Fault('MaxPostPreDataLengthExceededError'),
  'no file': () => {
    const reason = 'POST requires exactly one file upload per request.'
    return new Fault('InvalidArgument', { ArgumentName: 'file', ArgumentValue: 0, reason })
  },
}

const asFault = (error: unknown): unknown => (error instanceof BadForm ? FAULT_OF[error.problem]() : error)

/** Only these headers of the request count: headers the policy does not cover must not change the stored object. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set(['host', 'origin', 'referer', 'user-agent'])

/** Fields that are headers of the object, and those that select the response. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set([
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-md5',
  'content-type',
  'expires',
  'success_action_redirect',
  'success_action_status',
])

/** Signature fields that are not headers of the request. The date is one: policies may test its age. */
const SIGNATURE_FIELD = /^(algorithm|credential|signature|security-token)$/

/** Dialect headers that some clients send with every request: they do not describe the stored object. */
const BESIDE_ANY_FORM: ReadonlySet<string> = new Set(['content-sha256', 'date', 'user-agent'])

/** The dialect of the headers beside the form; a header that would change the object is refused. */
function spokenBeside({ headers }: RawRequest): Dialect | undefined {
  let spoken: Dialect | undefined
  for (const [sent] of headers) {
    const name = sent.toLowerCase()
    const dialect = Object.values(DIALECTS).find(({ prefix }) => name.startsWith(prefix))
    if (dialect === undefined) continue
    if (!BESIDE_ANY_FORM.has(name.slice(dialect.prefix.length))) {
      throw new Fault('InvalidRequest', { reason: `A form must carry ${sent} as a field, not as a header.` })
    }
    spoken = dialect
  }
  return spoken
}

/**
 * Reads the fields. `speaks` is called as soon as the dialect is known, so that later faults use it. A form without
 * signs of a dialect has that of `otherwise`.
 */
export async function openForm(
  request: RawRequest,
  body: AsyncIterable<Buffer>,
  speaks: (dialect: Dialect) => void,
  otherwise: Dialect,
): Promise<PostedForm> {
  const type = headerValues(request, 'content-type')[0] ?? ''
  if (!isFormType(type)) {
    const reason = 'Bucket POST must be of the enclosure-type multipart/form-data'
    throw new Fault('PreconditionFailed', { reason, Condition: reason })
  }
  const beside = spokenBeside(request)
  const { fields: sent, fileName, file } = await opened(body, type)
  const fields = sent.map(([name, value]): [string, string] => [name, named(name, value, fileName)])
  const { dialect, isMixed } = dialectOf({ ...request, headers: fields }, otherwise)
  speaks(dialect)
  if (isMixed || (beside !== undefined && beside !== dialect)) throw mixedDialects()
  const headers = [
    ...request.headers.filter(([name]) => OF_THE_REQUEST.has(name.toLowerCase())),
    ...fields.flatMap(field => headerOf(field, dialect)),
  ]
  return { dialect, request: { ...request, headers }, key: keyOf(fields), fields, file: faulting(file) }
}

async function opened(body: AsyncIterable<Buffer>, type: string): Promise<Form> {
  try {
    return await readForm(body, boundaryOf(type))
  } catch (error) {
    throw asFault(error)
  }
}

async function* faulting(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* file
  } catch (error) {
    throw asFault(error)
  }
}

const FILE_NAME = /\$\{filename\}/g

const named = (name: string, value: string, fileName: string): string =>
  name.toLowerCase() === 'key' ? value.replace(FILE_NAME, () => fileName) : value

function keyOf(fields: PostedForm['fields']): string {
  const found = fields.find(([name]) => name.toLowerCase() === 'key')
  if (found !== undefined) return found[1]
  const reason =
    "Bucket POST must contain a field named 'key'.  If it is specified, please check the order of the fields."
  throw new Fault('InvalidArgument', { ArgumentName: 'key', ArgumentValue: '', reason })
}

/** The header that a field replaces; empty for fields about the form itself. */
function headerOf([sent, value]: readonly [string, string], dialect: Dialect): [string, string][] {
  const name = sent.toLowerCase()
  if (name === 'acl') return [[`${dialect.prefix}acl`, headerValue(sent, value)]]
  if (name === 'tagging') return [[`${dialect.prefix}tagging`, tagHeader(value)]]
  const isOwn = name.startsWith(dialect.prefix) && !SIGNATURE_FIELD.test(name.slice(dialect.prefix.length))
  return isOwn || PLAIN_FIELDS.has(name) ? [[name, headerValue(sent, value)]] : []
}

/** Header values are sent again as raw bytes: a field must not inject a line end. */
function headerValue(name: string, value: string): string {
  if (!canBeHeader(name, value)) throw new Fault('InvalidArgument', { ArgumentName: name })
  return Buffer.from(value, 'utf8').toString('latin1')
}

/** A form sends tags as a document; headers carry them URL-encoded. */
function tagHeader(document: string): string {
  try {
    const tags = readTagDocument(parseXml(document), 'object')
    return tags.map(pair => pair.map(encodeURIComponent).join('=')).join('&')
  } catch (error) {
    if (error instanceof BadXml) throw new Fault('MalformedXML')
    throw error
  }
}

/** The caller who posts the form, and its file limited by the form's policy. */
export async function authenticateForm(
  form: PostedForm,
  bucket: string,
  by: Authentication,
): Promise<Omit<Authenticated, 'payload'> & { readonly body: IncomingBody }> {
  const { contentLength, ...authenticated } = await authenticatePost({ bucket, fields: form.fields }, by)
  const stream = contentLength === undefined ? form.file : within(form.file, contentLength)
  const body = {
    stream,
    length: undefined,
    declaredTrailers: [],
    hashSigned: false,
    mayDiffer: false,
    trailers: () => new Map(),
    reserveMemory: () => {},
  }
  return { ...authenticated, body }
}

/** Nothing is stored before the file ends, so a file that is too short leaves nothing behind. */
async function* within(file: AsyncIterable<Buffer>, { min, max }: LengthRange): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of file) {
    size += chunk.length
    if (size > max) throw new Fault('EntityTooLarge', { ProposedSize: size, MaxSizeAllowed: max })
    yield chunk
  }
  if (size < min) throw new Fault('EntityTooSmall', { ProposedSize: size, MinSizeAllowed: min })
}
