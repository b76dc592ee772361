/** Whether members of a cluster are alive: one that is counts its renewals on. */
interface SeenMember {
  readonly renewals: number
  /** When the count was first seen. */
  readonly since: number
  /** Nothing is known of a member that was seen once only. */
  readonly hasRenewed: boolean
}

export type SeenMembers = ReadonlyMap<string, SeenMember>

export function seenMembers(
  before: SeenMembers,
  members: readonly { readonly id: string; readonly renewals: number }[],
  now: number,
): SeenMembers {
  return new Map(
    members.map(({ id, renewals }) => {
      const last = before.get(id)
      if (last === undefined) return [id, { renewals, since: now, hasRenewed: false }]
      return [id, last.renewals === renewals ? last : { renewals, since: now, hasRenewed: true }]
    }),
  )
}

/** Members renew every two seconds. */
const SILENT_MS = 7000

/** Seconds of silence; 0 for a member that is alive, undefined while that is not known. */
export function silenceOf({ since, hasRenewed }: SeenMember, now: number): number | undefined {
  if (now - since >= SILENT_MS) return Math.round((now - since) / 1000)
  return hasRenewed ? 0 : undefined
}
