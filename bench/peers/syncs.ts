/** Says how often a server syncs before it acknowledges a write: the system calls of its processes are traced. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { prepare, send } from '../http/processes.ts'
import type { Scene } from '../scene.ts'
import type { Peer } from './servers.ts'
import type { Prewritten } from './workloads.ts'

const CALLS = 'fsync,fdatasync,msync,sync_file_range,syncfs,sync'
const PUTS = 50

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** Syncs for one PUT, one after the other; undefined where strace is not there. */
export async function syncsPerPut(scene: Scene, peer: Peer, { asked }: Prewritten): Promise<number | undefined> {
  const log = join(scene.folder, `syncs-${peer.name}`)
  const pids = [peer.pid, ...childrenOf(peer.pid)].flatMap(pid => ['-p', String(pid)])
  const tracer = spawn('strace', ['-f', '-q', '-o', log, '-e', `trace=${CALLS}`, ...pids], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const failed = once(tracer, 'error').then(() => true)
  if (await Promise.race([failed, pause(1_000).then(() => false)])) return undefined
  const requests = prepare(scene, `127.0.0.1:${peer.port}`, asked, peer.keys)
  await send([peer.port], requests, { connections: 1, answers: PUTS })
  tracer.kill('SIGINT')
  await once(tracer, 'exit')
  const calls = readFileSync(log, 'utf8').match(/\b(fsync|fdatasync|msync|sync_file_range|syncfs|sync)\(/g)
  return (calls?.length ?? 0) / PUTS
}
