/** The files of the console's build, read once when a browser first asks for them. */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConsoleFile, ConsoleFiles } from '../admin/console/console-pages.ts'

/** Beside the compiled source, in the repository and in the package. */
const builtFolder = (): string => fileURLToPath(new URL('../../console-pages', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** In order of preference. */
const CODINGS: readonly (readonly [string, string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
]

const SERVED = { ...TYPES, ...Object.fromEntries(CODINGS.map(([coding, suffix]) => [suffix, coding])) }

async function readFiles(folder: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const names = (await readdir(folder, { recursive: true })).filter(name => extname(name) in SERVED)
  const bytes = new Map<string, Buffer>()
  for (const name of names) bytes.set(name, await readFile(join(folder, name)))
  const files = new Map<string, ConsoleFile>()
  for (const [name, content] of bytes) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const compressed = CODINGS.flatMap(([coding, suffix]): [string, Buffer][] => {
      const found = bytes.get(name + suffix)
      return found === undefined ? [] : [[coding, found]]
    })
    files.set(`/${name.replaceAll(sep, '/')}`, { type, bytes: content, compressed: new Map(compressed) })
  }
  return files
}

/** Files that are missing are looked for again at the next request. */
export function consoleFiles(folder = builtFolder()): ConsoleFiles {
  let loaded: Promise<ReadonlyMap<string, ConsoleFile> | undefined> | undefined
  const load = async (): Promise<ReadonlyMap<string, ConsoleFile> | undefined> => {
    const files = await readFiles(folder).catch(() => undefined)
    if (files?.has('/index.html')) return files
    loaded = undefined
    return undefined
  }
  return () => {
    loaded ??= load()
    return loaded
  }
}
