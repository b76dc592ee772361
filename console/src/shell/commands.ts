/** Everything that has an address, and the actions that a page begins with, as far as the caller may use them. */
import { useMantineColorScheme } from '@mantine/core'
import { usePermissions } from '../api/permissions.ts'
import { type Session, signOut, useSession } from '../api/session.tsx'
import { useBuckets, useFoundBuckets } from '../api/use-buckets.ts'
import { STORE } from '../ledger/entry.ts'
import {
  SERVER_PARTS,
  toAccess,
  toBuckets,
  toExplain,
  toLedger,
  toNewBackup,
  toNewFsck,
  toNewScrub,
  toPublicAccess,
  toServer,
} from '../router.tsx'
import { accessTexts } from '../texts/access.ts'
import { paletteTexts as t } from '../texts/palette.ts'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { areasFor } from './areas.ts'
import { useAskedWords } from './asked-words.ts'
import { bucketPages, openBucket, useHereCommands } from './bucket-commands.ts'
import { type Command, pageCommand } from './command.ts'
import { useIdentityCommands } from './identity-commands.ts'

/** The first page of the area is a command already. */
const SERVER_COMMANDS: readonly Command[] = [
  ...SERVER_PARTS.filter(part => part !== '').map(part =>
    pageCommand(t.serverPage(serverTexts.tabs[part]), 'server', toServer(part)),
  ),
  pageCommand(t.scrub, 'check', toNewScrub()),
  pageCommand(t.fsck, 'check', toNewFsck()),
  pageCommand(t.backup, 'check', toNewBackup()),
  pageCommand(t.storeLedger, 'ledger', toLedger(STORE)),
]

function pageCommands(session: Session): Command[] {
  return [
    ...areasFor(session).map(({ label, href, icon }) => pageCommand(label, icon, href)),
    pageCommand(t.accessPage(accessTexts.tabs.explain), 'key', toExplain()),
    pageCommand(t.accessPage(accessTexts.tabs.public), 'key', toPublicAccess()),
    ...(session.administrator ? SERVER_COMMANDS : []),
  ]
}

function useActions({ administrator }: Session): Command[] {
  const { setColorScheme } = useMantineColorScheme()
  const { create } = usePermissions({ create: { action: 's3:CreateBucket', bucket: 'new-bucket' } })
  const theme = (label: string, scheme: 'light' | 'dark' | 'auto'): Command => ({
    id: scheme,
    label,
    icon: 'theme',
    run: () => setColorScheme(scheme),
  })
  return [
    ...(create.isRefused ? [] : [pageCommand(t.createBucket, 'plus', `${toBuckets()}?create=yes`)]),
    ...(administrator ? [pageCommand(t.createAccount, 'plus', `${toAccess()}?create=yes`)] : []),
    theme(texts.shell.lightTheme, 'light'),
    theme(texts.shell.darkTheme, 'dark'),
    theme(texts.shell.systemTheme, 'auto'),
    { id: 'out', label: texts.shell.signOut, icon: 'user', run: () => void signOut() },
  ]
}

/** The server is asked for what was typed: users, and buckets that are not loaded. */
export function useCommands(text: string): { readonly commands: readonly Command[]; readonly isAsking: boolean } {
  const session = useSession()
  const { words, isResting } = useAskedWords(text)
  const { buckets: loaded, hasNextPage } = useBuckets()
  const { found, isPending } = useFoundBuckets(hasNextPage ? words : [])
  const buckets = [...loaded, ...found]
  const here = useHereCommands(buckets)
  const actions = useActions(session)
  const identities = useIdentityCommands(words)
  const all = [
    ...here,
    ...pageCommands(session),
    ...actions,
    ...buckets.map(({ name }) => openBucket(name)),
    ...identities.commands,
    ...buckets.flatMap(bucket => bucketPages(bucket, session)),
  ]
  // Commands about this place come first, and each is there only once.
  const commands = [...new Map(all.map(command => [command.id, command])).values()]
  return { commands, isAsking: !isResting || isPending || identities.isPending }
}
