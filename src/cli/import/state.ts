/**
 * The state that comparing both sides does not show: versions skipped on purpose, ETags that differ although the bytes
 * are equal, unfinished uploads. An append-only file of JSON lines.
 */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { CommandFailed } from '../failures.ts'
import type { ListedEntry } from './listing.ts'

interface Header {
  readonly import: 1
  readonly from: string
  readonly to: string
}

type Line =
  | Header
  | { readonly differs: readonly [version: string, targetEtag: string] }
  | { readonly leftOut: string }
  | { readonly upload: readonly [key: string, id: string] }
  | { readonly ended: string }

/** Includes the ETag, because a null version may have been replaced. */
const nameOf = (key: string, { versionId, etag }: ListedEntry): string => JSON.stringify([key, versionId ?? '', etag])

export class State {
  readonly #path: string
  readonly #header: Header
  /** Opened with the first line, so that an import that fails at once leaves no file. */
  #file: number | undefined
  #hasHeader: boolean
  readonly #etags = new Map<string, string>()
  readonly #leftOut = new Set<string>()
  readonly #uploads = new Map<string, string>()

  private constructor(path: string, header: Header, hasHeader: boolean) {
    this.#path = path
    this.#header = header
    this.#hasHeader = hasHeader
  }

  /**
   * Continues the file of an earlier run between the same two buckets, or creates one. A file of another import without
   * entries, because that import failed at once, is taken over.
   */
  static open(path: string, from: string, to: string): State {
    const { header, lines } = contentOf(path)
    const isOwn = header?.from === from && header.to === to
    const remembered = new State(path, { import: 1, from, to }, isOwn)
    for (const line of lines) remembered.#take(line)
    if (header !== undefined && !isOwn) {
      if (!remembered.#isEmpty) {
        const other = `${header.from} into ${header.to}`
        throw new CommandFailed(
          `${path} belongs to another import, ${other}: name another file with --state, or delete it`,
        )
      }
      truncateSync(path)
    }
    return remembered
  }

  get #isEmpty(): boolean {
    return this.#etags.size + this.#leftOut.size + this.#uploads.size === 0
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  /** The version's ETag at the target, if it differs from the source's. */
  etagOf(key: string, version: ListedEntry): string | undefined {
    return this.#etags.get(nameOf(key, version))
  }

  isLeftOut(key: string, version: ListedEntry): boolean {
    return this.#leftOut.has(nameOf(key, version))
  }

  noteEtag(key: string, version: ListedEntry, targetEtag: string): void {
    this.#note({ differs: [nameOf(key, version), targetEtag] })
  }

  /** Synced before the next version is written: without this line the two sides could no longer be matched. */
  leaveOut(key: string, version: ListedEntry): void {
    this.#note({ leftOut: nameOf(key, version) })
    fdatasyncSync(this.#file!)
  }

  noteUpload(key: string, id: string): void {
    this.#note({ upload: [key, id] })
  }

  noteEnd(id: string): void {
    this.#note({ ended: id })
  }

  /** Uploads that were neither completed nor aborted. */
  get openUploads(): readonly (readonly [id: string, key: string])[] {
    return [...this.#uploads]
  }

  #note(line: Line): void {
    this.#append(line)
    this.#take(line)
  }

  #append(line: Line): void {
    this.#file ??= openSync(this.#path, 'a', 0o600)
    const lines = this.#hasHeader ? [line] : [this.#header, line]
    writeSync(this.#file, lines.map(one => `${JSON.stringify(one)}\n`).join(''))
    this.#hasHeader = true
  }

  #take(line: Line): void {
    if ('differs' in line) this.#etags.set(line.differs[0], line.differs[1])
    else if ('leftOut' in line) this.#leftOut.add(line.leftOut)
    else if ('upload' in line) this.#uploads.set(line.upload[1], line.upload[0])
    else if ('ended' in line) this.#uploads.delete(line.ended)
  }
}

function contentOf(path: string): { readonly header: Header | undefined; readonly lines: readonly Line[] } {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  // A line that a crash truncated was never relied upon.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole))
  const [header, ...lines] = whole
    .split('\n')
    .filter(line => line !== '')
    .map(line => lineOf(line, path))
  if (header !== undefined && !('import' in header))
    throw new CommandFailed(`${path} is not the state file of an import`)
  return { header, lines }
}

/** The default path; a file that another import still needs is left alone. */
export function defaultStatePath(bucket: string, from: string, to: string): string {
  const usual = `holdfast-import-${bucket}.state`
  const { header } = contentOf(usual)
  if (header === undefined || (header.from === from && header.to === to)) return usual
  const mark = createHash('sha256')
    .update(JSON.stringify([from, to]))
    .digest('hex')
    .slice(0, 8)
  return `holdfast-import-${bucket}-${mark}.state`
}

function lineOf(text: string, path: string): Line {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailed(`${path} is not the state file of an import`)
  }
}
