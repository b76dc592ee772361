/** `npm run bench -- peers`. docs/performance.md describes the rows. */
import { aloneRow, type Row, rowOf } from './measure.ts'
import { comparePeers, fill } from './peers/comparison.ts'
import { type Compared, peersTable } from './peers/markdown.ts'
import { type Peer, startPeers } from './peers/servers.ts'
import { syncsPerPut } from './peers/syncs.ts'
import { type Prewritten, peerWorkloads } from './peers/workloads.ts'
import type { Scene } from './scene.ts'
import { type Group, runSuiteOn } from './suite.ts'

interface Field {
  readonly scene: Scene
  readonly peers: readonly Peer[]
}

const compared: Compared[] = []
const syncs = new Map<string, number | undefined>()
let field: readonly Peer[] = []

/** Rates and processor time of Holdfast, each divided by another server's. */
const comparing =
  (name: string): Group<Field> =>
  async ({ scene, peers }) => {
    const workload = peerWorkloads(scene.quick).find(one => one.name === name)!
    const figures = await comparePeers(scene, peers, workload)
    compared.push({ workload: name, figures })
    const [own, ...others] = figures
    return others.flatMap((other): Row[] => [
      rowOf(`${name}-vs-${other.peer}`, 'op/s', own!.rate, other.rate),
      rowOf(`${name}-cpu-vs-${other.peer}`, 'ms', own!.processor, other.processor),
    ])
  }

async function durability({ scene, peers }: Field): Promise<Row[]> {
  const put = peerWorkloads(scene.quick).find(one => one.name === 'put-4k') as Prewritten
  const rows: Row[] = []
  for (const peer of peers.filter(({ folder }) => folder === undefined)) {
    const count = await syncsPerPut(scene, peer, put)
    syncs.set(peer.name, count)
    if (count !== undefined) rows.push(aloneRow(`syncs-${peer.name}`, 'sync', count))
  }
  return rows
}

async function withPeers(scene: Scene, use: (field: Field) => Promise<void>): Promise<void> {
  const peers = await startPeers(scene)
  field = peers
  try {
    for (const peer of peers) await fill(scene, peer, peerWorkloads(scene.quick))
    await use({ scene, peers })
  } finally {
    for (const peer of peers) await peer.stop()
  }
}

const rows = peerWorkloads(true).map(({ name }): [string, Group<Field>] => [name, comparing(name)])
await runSuiteOn('peers', { ...Object.fromEntries(rows), syncs: durability }, withPeers)
process.stdout.write(`\n${peersTable(field, compared, syncs)}\n`)
