/** Texts of the command palette. */
import { countText } from '../format.ts'

export const paletteTexts = {
  title: 'Search and commands',
  placeholder: 'Type a bucket, a page or a command',
  nothing: 'Nothing matches.',
  searching: 'Searching…',
  more: (count: number) => `${countText(count)} more. Type more to narrow them down.`,
  openBucket: (name: string) => `Open bucket ${name}`,
  deletedOf: (name: string) => `Deleted objects of ${name}`,
  holdsOf: (name: string) => `Holds of ${name}`,
  rulesOf: (name: string) => `Rules of ${name}`,
  ruleOf: (rule: string, name: string) => `Rules of ${name}: ${rule}`,
  accessOf: (name: string) => `Access to ${name}`,
  settingsOf: (name: string) => `Settings of ${name}`,
  ledgerOf: (name: string) => `Ledger of ${name}`,
  storeLedger: 'Ledger of the whole store',
  uploadTo: (folder: string) => `Upload files to ${folder}`,
  createBucket: 'Create a bucket',
  createAccount: 'Create an account',
  account: (name: string) => `Account ${name}`,
  user: (name: string, account: string) => `User ${name} of ${account}`,
  accessPage: (label: string) => `Access: ${label}`,
  serverPage: (label: string) => `Server: ${label}`,
  scrub: 'Start a scrub',
  fsck: 'Start a full check',
  backup: 'Take a backup',
} as const
