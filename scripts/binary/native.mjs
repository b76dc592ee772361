/**
 * Part of the single executable. A native part can only be loaded from a file: it is unpacked into a folder that nobody
 * else can write to, and compared with what this program carries at every start, so that neither a stranger's file nor
 * one that a power cut left damaged is ever loaded.
 */
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const OTHERS_MAY_WRITE = 0o022

/** The first one that takes files and lets them be loaded is used: some are read-only, some forbid execution. */
function foldersToTry() {
  const { CACHE_DIRECTORY, XDG_CACHE_HOME } = process.env
  return [
    // Set by systemd.
    ...(CACHE_DIRECTORY ? [CACHE_DIRECTORY] : []),
    join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'holdfast'),
    join(tmpdir(), `holdfast-${process.getuid?.() ?? 'native'}`),
  ]
}

function unpack(folder, name, bytes) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(folder)
  const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & OTHERS_MAY_WRITE) === 0)
  if (!isOurs) throw new Error('others can write to it')
  const path = join(folder, name)
  if (isThere(path, bytes)) return path
  // Several processes may do this at once; each puts a whole file in place.
  const fresh = `${path}.${process.pid}`
  rmSync(fresh, { force: true })
  writeFileSync(fresh, bytes, { mode: 0o600, flag: 'wx' })
  renameSync(fresh, path)
  return path
}

function isThere(path, bytes) {
  try {
    return lstatSync(path).isFile() && readFileSync(path).equals(bytes)
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

export function loadNative(name, embedded) {
  const bytes = readFileSync(embedded)
  const refusals = []
  for (const folder of foldersToTry()) {
    try {
      const loaded = { exports: {} }
      process.dlopen(loaded, unpack(folder, name, bytes))
      return loaded.exports
    } catch (error) {
      refusals.push(`${folder}: ${error.message}`)
    }
  }
  // Thrown, it would be caught by packages that then look elsewhere.
  process.stderr.write(`holdfast: ${name} can be unpacked and loaded nowhere; ${refusals.join('; ')}\n`)
  process.exit(1)
}
