/** One workload on every server, in turns. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, send } from '../http/processes.ts'
import type { Asked } from '../http/signed.ts'
import { inTurns, median } from '../measure.ts'
import { processorMs } from '../processor-time.ts'
import type { Scene } from '../scene.ts'
import type { Peer } from './servers.ts'
import { PAGE_KEYS, type PeerWorkload, type Prewritten, type Reading } from './workloads.ts'
import { type Answered, runWrk, wrkScript } from './wrk.ts'

export interface Figure {
  readonly peer: string
  /** Requests a second: the median of the turns, and the least and the most of them. */
  readonly rate: number
  readonly least: number
  readonly most: number
  /** Milliseconds of the server's processor time for one request. */
  readonly processor: number
}

const READS_OF_FILES = ['get-4k', 'head', 'head-anew', 'head-presigned', 'get-64k', 'get-1m', 'get-64m']

const hostOf = ({ port }: Peer): string => `127.0.0.1:${port}`

/** Puts the objects that reads will ask for. */
export async function fill(scene: Scene, peer: Peer, workloads: readonly PeerWorkload[]): Promise<void> {
  const sizes = new Map(workloads.flatMap(one => (one.kind === 'read' && one.bytes > 0 ? [[one.bytes, one.keys]] : [])))
  const objects = [...sizes].map(([bytes, keys]) => ({ body: randomBytes(bytes), keys }))
  for (const { body, keys } of [...objects, { body: randomBytes(16), keys: PAGE_KEYS }]) {
    if (peer.folder !== undefined) {
      for (const key of keys) writeFileSync(join(peer.folder, 'bench', key), body)
      continue
    }
    const asked = keys.map((key): Asked => ({ method: 'PUT', path: `/bench/${key}`, body }))
    const requests = prepare(scene, hostOf(peer), asked, peer.keys)
    await send([peer.port], requests, { connections: Math.min(16, keys.length), answers: keys.length })
  }
}

/** One server's turn. What comes before it is not measured. */
interface Turns {
  readonly before?: () => Promise<unknown>
  readonly turn: () => Promise<Answered>
}

function readingTurns(scene: Scene, peer: Peer, reading: Reading): Turns {
  const script = wrkScript(scene, peer, reading)
  return { turn: () => runWrk(peer, script, reading.connections, scene.quick ? 1 : 4) }
}

function prewrittenTurns(scene: Scene, peer: Peer, { asked, before, connections }: Prewritten): Turns {
  const requests = prepare(scene, hostOf(peer), asked, peer.keys)
  const all = { connections, answers: asked.length }
  if (before !== undefined) {
    const preparation = prepare(scene, hostOf(peer), before, peer.keys)
    return {
      before: () => send([peer.port], preparation, all),
      turn: () => send([peer.port], requests, all),
    }
  }
  const milliseconds = scene.quick ? 1_000 : 4_000
  return { turn: () => send([peer.port], requests, { connections, milliseconds }) }
}

interface Measured extends Answered {
  readonly processor: number
}

const measured =
  (peer: Peer, { before, turn }: Turns) =>
  async (): Promise<Measured> => {
    await before?.()
    const start = processorMs([peer.pid])
    const answered = await turn()
    return { ...answered, processor: (processorMs([peer.pid]) - start) / answered.answers }
  }

export async function comparePeers(
  scene: Scene,
  peers: readonly Peer[],
  workload: PeerWorkload,
): Promise<readonly Figure[]> {
  const isFit = ({ folder }: Peer): boolean => folder === undefined || READS_OF_FILES.includes(workload.name)
  const fit = peers.filter(isFit)
  const turnsOf = (peer: Peer): Turns =>
    workload.kind === 'read' ? readingTurns(scene, peer, workload) : prewrittenTurns(scene, peer, workload)
  const contenders = fit.map(peer => measured(peer, turnsOf(peer)))
  const turns = await inTurns(scene.quick ? 1 : 4, contenders)
  return fit.map((peer, at) => {
    const rates = turns[at]!.map(({ answers, milliseconds }) => (answers * 1000) / milliseconds)
    return {
      peer: peer.name,
      rate: median(rates),
      least: Math.min(...rates),
      most: Math.max(...rates),
      processor: median(turns[at]!.map(({ processor }) => processor)),
    }
  })
}
