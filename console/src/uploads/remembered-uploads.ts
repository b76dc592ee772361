/**
 * Multipart uploads that this browser began and did not complete. A page that is loaded again cannot open their files,
 * but a person can choose them again: the parts that arrived are not sent twice. Names and ids are kept, no secrets.
 */
const STORAGE_KEY = 'holdfast-uploads'
const REMEMBERED_MAX = 200

/** Tells a file by what browsers disclose of it. Only the key that began an upload goes on with it. */
export interface FileMark {
  readonly accessKey: string
  readonly bucket: string
  readonly key: string
  readonly size: number
  readonly modifiedAt: number
}

export interface RememberedUpload extends FileMark {
  readonly uploadId: string
  readonly partBytes: number
}

function read(): RememberedUpload[] {
  try {
    const kept: unknown = JSON.parse(window.localStorage.getItem(STORAGE_KEY) ?? '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

const listeners = new Set<() => void>()
let interrupted: readonly RememberedUpload[] | undefined

function changed(): void {
  interrupted = undefined
  for (const listener of listeners) listener()
}

function write(uploads: readonly RememberedUpload[]): void {
  try {
    window.localStorage.setItem(STORAGE_KEY, JSON.stringify(uploads.slice(-REMEMBERED_MAX)))
  } catch {
    // A full storage costs the way on after a reload, not the upload.
  }
  changed()
}

const isOf = (one: FileMark, mark: FileMark): boolean =>
  one.accessKey === mark.accessKey &&
  one.bucket === mark.bucket &&
  one.key === mark.key &&
  one.size === mark.size &&
  one.modifiedAt === mark.modifiedAt

/** Ids that an upload of this tab uses, so that the same file chosen twice does not share one. */
const inUse = new Set<string>()

export const rememberedUploads = {
  /** The upload of a file that an earlier page began. */
  take(mark: FileMark): RememberedUpload | undefined {
    const found = read().find(one => isOf(one, mark) && !inUse.has(one.uploadId))
    if (found === undefined) return undefined
    inUse.add(found.uploadId)
    changed()
    return found
  },

  /** Ends the use of an upload that could not be resumed now. */
  release(uploadId: string): void {
    inUse.delete(uploadId)
    changed()
  },

  add(upload: RememberedUpload): void {
    inUse.add(upload.uploadId)
    write([...read(), upload])
  },

  forget(uploadId: string): void {
    inUse.delete(uploadId)
    write(read().filter(one => one.uploadId !== uploadId))
  },

  clear(): void {
    window.localStorage.removeItem(STORAGE_KEY)
    changed()
  },

  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },

  /** Those that no upload of this tab goes on with. */
  interrupted(): readonly RememberedUpload[] {
    interrupted ??= read().filter(({ uploadId }) => !inUse.has(uploadId))
    return interrupted
  },
}
