/** Reads by wrk: presigned requests, made by a script that formats each of them once. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { presignedPath } from '../http/signed.ts'
import type { Scene } from '../scene.ts'
import type { Peer } from './servers.ts'
import type { Reading } from './workloads.ts'

const THREADS = 1

let scripts = 0

/** The script for one server, in a file. */
export function wrkScript(scene: Scene, peer: Peer, { keys, query }: Reading): string {
  const paths = keys.map(key => {
    const path = query === undefined ? `/bench/${key}` : '/bench'
    if (peer.folder !== undefined) return path
    return presignedPath(
      `127.0.0.1:${peer.port}`,
      { method: 'GET', path, ...(query === undefined ? {} : { query }) },
      peer.keys,
    )
  })
  const file = join(scene.folder, `wrk-${++scripts}.lua`)
  const lines = [
    `local paths = {${paths.map(path => JSON.stringify(path)).join(',\n')}}`,
    'local requests, next = {}, 0',
    `init = function() for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path) end end`,
    'request = function() next = next % #requests + 1 return requests[next] end',
    'done = function(summary)',
    '  local errors = summary.errors',
    '  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout',
    '  io.write(string.format("RESULT %d %d %d\\n", summary.requests, summary.duration, failed))',
    'end',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

export interface Answered {
  readonly answers: number
  readonly milliseconds: number
}

/** Fails unless every response was a success. */
export async function runWrk(peer: Peer, script: string, connections: number, seconds: number): Promise<Answered> {
  const shape = ['-t', String(THREADS), '-c', String(connections), '-d', `${seconds}s`, '--timeout', '30s']
  const { stdout } = await promisify(execFile)('wrk', [...shape, '-s', script, `http://127.0.0.1:${peer.port}`])
  const found = /RESULT (\d+) (\d+) (\d+)/.exec(stdout)
  if (found === null) throw new Error(`wrk said: ${stdout}`)
  const [answers, microseconds, failed] = found.slice(1).map(Number) as [number, number, number]
  if (failed > 0 || answers === 0) throw new Error(`${peer.name}: ${failed} of ${answers} requests failed`)
  return { answers, milliseconds: microseconds / 1000 }
}
