/** One line of the command palette. */
import type { IconName } from '../parts/icons.tsx'
import { navigate } from '../router.tsx'

export interface Command {
  /** Unique: the address of a page, or the name of an action. */
  readonly id: string
  readonly label: string
  readonly icon: IconName
  readonly run: () => void
}

export const pageCommand = (label: string, icon: IconName, href: string): Command => ({
  id: href,
  label,
  icon,
  run: () => navigate(href),
})
