/** Downloads: one object by the browser itself, several as a zip that is written while the objects are read. */
import { lastPart } from '../format.ts'
import { versionQuery } from './details.ts'
import type { ObjectPlace } from './object-place.ts'
import { presign } from './presign.ts'
import { send } from './request.ts'

/** A name in quotes for old browsers, and in UTF-8 for the others. */
function attachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, char => `%${char.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/** A link that downloads the object under its own name. */
export async function downloadLink(place: ObjectPlace, expiresInSeconds?: number): Promise<string> {
  const { bucket, key, versionId } = place
  const query = { 'response-content-disposition': attachment(lastPart(key)), ...versionQuery(versionId) }
  const { url } = await presign({
    ...{ method: 'GET', bucket, key, query },
    ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
  })
  return url
}

function follow(url: string, name?: string): void {
  const link = document.createElement('a')
  link.href = url
  link.rel = 'noopener noreferrer'
  if (name !== undefined) link.download = name
  link.click()
}

/** Downloads what the page itself made. */
export function saveAs(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  follow(url, name)
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

/** Asks first: the browser would leave the console for the page of an error. */
export async function download(place: ObjectPlace): Promise<void> {
  const { bucket, key, versionId } = place
  await send({ method: 'HEAD', bucket, key, query: versionQuery(versionId) })
  follow(await downloadLink(place))
}

interface ZipOrder {
  readonly bucket: string
  readonly keys: readonly string[]
  /** Left out of the names inside. */
  readonly prefix: string
  readonly target: ZipTarget
  readonly onProgress: (done: number) => void
}

/** A browser opens six connections to a server; some are left for the rest of the page. */
const ASKED_AHEAD = 4

interface WritableFile {
  createWritable(): Promise<WritableStream>
}

type SavePicker = (options: { suggestedName: string }) => Promise<WritableFile>

interface ZipTarget {
  readonly name: string
  /** Absent where the browser cannot write to files. */
  readonly file: WritableFile | undefined
}

/** Call it first in answer to a click: browsers open the dialog for a file only shortly after one. */
export async function chooseZipTarget(name: string): Promise<ZipTarget> {
  const pick = (window as unknown as { showSaveFilePicker?: SavePicker }).showSaveFilePicker
  return { name, file: pick === undefined ? undefined : await pick({ suggestedName: name }) }
}

/** Goes straight to a file where the browser can do that, and through its memory elsewhere. */
export async function downloadZip({ bucket, keys, prefix, target, onProgress }: ZipOrder): Promise<void> {
  const { downloadZip: zip } = await import('client-zip')
  // The next few are asked for in advance: small objects take longer to ask for than to read.
  const asked = new Map<number, Promise<Response>>()
  const ask = (i: number): Promise<Response> => {
    const response = asked.get(i) ?? send({ method: 'GET', bucket, key: keys[i]! })
    // The failure is met when its turn comes.
    response.catch(() => {})
    asked.set(i, response)
    return response
  }
  async function* files() {
    for (const [i, key] of keys.entries()) {
      for (let ahead = i; ahead < Math.min(i + ASKED_AHEAD, keys.length); ahead++) ask(ahead)
      const response = await ask(i)
      asked.delete(i)
      const lastModified = new Date(response.headers.get('last-modified') ?? 0)
      yield { name: key.slice(prefix.length), lastModified, input: response }
      onProgress(i + 1)
    }
  }
  const stream = zip(files()).body!
  if (target.file !== undefined) return stream.pipeTo(await target.file.createWritable())
  saveAs(await new Response(stream).blob(), target.name)
}
