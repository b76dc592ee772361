/** The areas of the console, in the order of the navigation. */
import type { Session } from '../api/session.tsx'
import type { IconName } from '../parts/icons.tsx'
import { toAccess, toBuckets, toLedgers, toServer } from '../router.tsx'
import { texts } from '../texts/texts.ts'

interface Area {
  readonly label: string
  readonly href: string
  readonly icon: IconName
  /** Areas that only administrators may open are not offered to others. */
  readonly isFor: (session: Session) => boolean
}

const everybody = (): boolean => true

const administrators = (session: Session): boolean => session.administrator

const AREAS: readonly Area[] = [
  { label: texts.shell.buckets, href: toBuckets(), icon: 'bucket', isFor: everybody },
  { label: texts.shell.access, href: toAccess(), icon: 'key', isFor: everybody },
  { label: texts.shell.ledger, href: toLedgers(), icon: 'ledger', isFor: administrators },
  { label: texts.shell.server, href: toServer(), icon: 'server', isFor: administrators },
]

export const areasFor = (session: Session): Area[] => AREAS.filter(({ isFor }) => isFor(session))
