/**
 * What a run must remember and cannot see by comparing the two sides: versions that were left out on purpose, entity
 * tags that differ although the bytes do not, uploads that were begun. Lines of JSON, only ever appended to.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { Failed } from '../failures.ts'
import type { Listed } from './listing.ts'

type Line =
  | { readonly import: 1; readonly from: string; readonly to: string }
  | { readonly differs: readonly [version: string, targetEtag: string] }
  | { readonly leftOut: string }
  | { readonly upload: readonly [key: string, id: string] }
  | { readonly ended: string }

/** The entity tag is part of it: a null version may be another one by now. */
const nameOf = (key: string, { versionId, etag }: Listed): string => JSON.stringify([key, versionId ?? '', etag])

export class State {
  readonly #file: number
  readonly #etags = new Map<string, string>()
  readonly #leftOut = new Set<string>()
  readonly #uploads = new Map<string, string>()

  private constructor(file: number) {
    this.#file = file
  }

  /** Goes on with the file of an earlier run between the same two places, or begins one. */
  static open(path: string, from: string, to: string): State {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    // A line that a crash cut off was never relied upon.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole))
    const state = new State(openSync(path, 'a', 0o600))
    const [first, ...rest] = whole.split('\n').filter(line => line !== '')
    if (first === undefined) {
      state.#append({ import: 1, from, to })
      return state
    }
    const header = lineOf(first, path)
    if (!('import' in header) || header.from !== from || header.to !== to) {
      state.close()
      throw new Failed(`${path} is of another import: name another file with --state`)
    }
    for (const line of rest) state.#take(lineOf(line, path))
    return state
  }

  close(): void {
    closeSync(this.#file)
  }

  /** The entity tag that this version has at the target, where it is another than at the source. */
  etagOf(key: string, version: Listed): string | undefined {
    return this.#etags.get(nameOf(key, version))
  }

  isLeftOut(key: string, version: Listed): boolean {
    return this.#leftOut.has(nameOf(key, version))
  }

  noteEtag(key: string, version: Listed, targetEtag: string): void {
    this.#note({ differs: [nameOf(key, version), targetEtag] })
  }

  /** Stable before the next version is written: without this line the two sides would no longer fit together. */
  leaveOut(key: string, version: Listed): void {
    this.#note({ leftOut: nameOf(key, version) })
    fdatasyncSync(this.#file)
  }

  noteUpload(key: string, id: string): void {
    this.#note({ upload: [key, id] })
  }

  noteEnd(id: string): void {
    this.#note({ ended: id })
  }

  /** Uploads that a run began and nobody ended. */
  get openUploads(): readonly (readonly [id: string, key: string])[] {
    return [...this.#uploads]
  }

  #note(line: Line): void {
    this.#append(line)
    this.#take(line)
  }

  #append(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }

  #take(line: Line): void {
    if ('differs' in line) this.#etags.set(line.differs[0], line.differs[1])
    else if ('leftOut' in line) this.#leftOut.add(line.leftOut)
    else if ('upload' in line) this.#uploads.set(line.upload[1], line.upload[0])
    else if ('ended' in line) this.#uploads.delete(line.ended)
  }
}

function lineOf(text: string, path: string): Line {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failed(`${path} is no state of an import`)
  }
}
