/** Metrics of a server as a member of its cluster. */
import type { Membership } from '../store/cluster/membership.ts'
import { labelled, type Sample } from './families.ts'

/** `clockAheadMs` is the lead of the database's clock; `mountLate` counts failed checks of a shared folder. */
export function clusterSamples(membership: Membership, clockAheadMs?: number, mountLate?: number): Sample[] {
  const members = membership.view?.members
  return [
    ['holdfast_cluster_members', '', members?.size ?? 0],
    ['holdfast_cluster_leads', '', membership.leaderMeta === undefined ? 0 : 1],
    ['holdfast_cluster_renewal_age_seconds', '', membership.renewalAgeMs / 1000],
    ...(clockAheadMs === undefined
      ? []
      : [['holdfast_cluster_clock_offset_seconds', '', clockAheadMs / 1000] as const]),
    ...(mountLate === undefined ? [] : [['holdfast_cluster_mount_late_total', '', mountLate] as const]),
    ...[...(members ?? [])].map(([id, { address }]): Sample => {
      const silenceMs = membership.silenceMs(id) ?? 0
      return ['holdfast_cluster_member_silence_seconds', labelled({ member: id, address }), silenceMs / 1000]
    }),
  ]
}
