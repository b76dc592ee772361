/** Metrics of a server as a member of its cluster. */
import type { Membership } from '../store/cluster/membership.ts'
import { labelled, type Sample } from './families.ts'

export function clusterSamples(membership: Membership): Sample[] {
  const members = membership.view?.members
  return [
    ['holdfast_cluster_members', '', members?.size ?? 0],
    ['holdfast_cluster_leads', '', membership.leaderMeta === undefined ? 0 : 1],
    ['holdfast_cluster_renewal_age_seconds', '', membership.renewalAgeMs / 1000],
    ...[...(members ?? [])].map(([id, { address }]): Sample => {
      const silenceMs = membership.silenceMs(id) ?? 0
      return ['holdfast_cluster_member_silence_seconds', labelled({ member: id, address }), silenceMs / 1000]
    }),
  ]
}
