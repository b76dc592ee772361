/** Routes of the gateways that share the store. */
import { Fault } from '../../model/faults.ts'
import { type ClusterView, readCluster } from '../../store/cluster/cluster-records.ts'
import { expel } from '../../store/cluster/membership.ts'
import { path } from '../input.ts'
import { route } from '../route.ts'
import { COUNT, listOf, objectOf, TEXT, TIME, YES_OR_NO } from '../schemas.ts'
import { isoTime } from './accounts.ts'

const MEMBER = objectOf({
  id: TEXT,
  address: TEXT,
  version: TEXT,
  joinedAt: TIME,
  renewals: { ...COUNT, description: 'How often it has renewed its membership; grows while the member is alive' },
  leads: YES_OR_NO,
})

const membersOf = ({ members, leader }: ClusterView) =>
  [...members].map(([id, { address, version, joinedAt, renewal }]) => ({
    id,
    address,
    version,
    joinedAt: isoTime(joinedAt),
    renewals: renewal.count,
    leads: leader?.member.toString('hex') === id,
  }))

export const GetCluster = route({
  name: 'GetCluster',
  method: 'GET',
  path: '/v1/cluster',
  summary: 'Get the servers that share the database, and which of them leads',
  permission: 'admin',
  answer: objectOf({ epoch: COUNT, 'leader?': TEXT, 'term?': COUNT, members: listOf(MEMBER) }),
  input: {},
  async run(ctx) {
    const view = await readCluster(ctx.store.context.meta)
    const leader = view.leader && view.members.get(view.leader.member.toString('hex'))
    return {
      epoch: Math.max(0, ...[...view.members.values()].map(({ incarnation }) => incarnation)),
      leader: leader?.address,
      term: view.leader?.term,
      members: membersOf(view),
    }
  },
})

export const ExpelMember = route({
  name: 'ExpelMember',
  method: 'DELETE',
  path: '/v1/cluster/members/{id}',
  summary: 'Expel a server: none of its commits takes effect any more',
  permission: 'admin',
  status: 204,
  input: { id: path('The id of the member') },
  async run(ctx, { id }) {
    const { meta } = ctx.store.context
    const member = (await readCluster(meta)).members.get(id)
    const isExpelled = member !== undefined && (await expel(meta, member))
    if (!isExpelled) throw new Fault('NoSuchEntity', { reason: `no member of the cluster has the id ${id}` })
  },
})
