/** Everything by keyboard: jump to a bucket, or run a command. */
import { Text, TextInput, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { type KeyboardEvent, useId, useState } from 'react'
import { signOut, useSession } from '../api/session.tsx'
import { useBuckets } from '../api/use-buckets.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Icon, type IconName } from '../parts/icons.tsx'
import { navigate, SERVER_PARTS, toBuckets, toFolder, toNewScrub, toServer, toSettings } from '../router.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { areasFor } from './areas.ts'
import classes from './command-palette.module.css'

interface Command {
  readonly id: string
  readonly label: string
  readonly icon: IconName
  readonly run: () => void
}

const SHOWN_MAX = 40
const t = texts.palette

/** Dashboard is the area itself. */
const SERVER_COMMANDS: readonly Command[] = [
  ...SERVER_PARTS.filter(part => part !== '').map(
    (part): Command => ({
      id: toServer(part),
      label: serverTexts.palette.page(serverTexts.tabs[part]),
      icon: 'server',
      run: () => navigate(toServer(part)),
    }),
  ),
  { id: 'scrub', label: serverTexts.palette.scrub, icon: 'check', run: () => navigate(toNewScrub()) },
]

function useCommands(): Command[] {
  const session = useSession()
  const { buckets } = useBuckets()
  const { setColorScheme } = useMantineColorScheme()
  const opened = buckets.flatMap(({ name }): Command[] => [
    { id: `open ${name}`, label: t.openBucket(name), icon: 'bucket', run: () => navigate(toFolder(name)) },
    { id: `settings ${name}`, label: t.settingsOf(name), icon: 'settings', run: () => navigate(toSettings(name)) },
  ])
  return [
    ...areasFor(session).map(({ label, href, icon }) => ({ id: href, label, icon, run: () => navigate(href) })),
    { id: 'create', label: t.createBucket, icon: 'plus', run: () => navigate(`${toBuckets()}?create=yes`) },
    { id: 'light', label: texts.shell.lightTheme, icon: 'theme', run: () => setColorScheme('light') },
    { id: 'dark', label: texts.shell.darkTheme, icon: 'theme', run: () => setColorScheme('dark') },
    { id: 'out', label: texts.shell.signOut, icon: 'user', run: () => void signOut() },
    ...(session.administrator ? SERVER_COMMANDS : []),
    ...opened,
  ]
}

const matches = (label: string, words: readonly string[]): boolean => words.every(word => label.includes(word))

export default function CommandPalette({ close }: { readonly close: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const listId = useId()
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = useCommands()
    .filter(({ label }) => matches(label.toLowerCase(), words))
    .slice(0, SHOWN_MAX)
  const at = Math.min(chosen, Math.max(0, found.length - 1))
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    command.run()
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && found.length > 0) {
      event.preventDefault()
      setChosen((at + step + found.length) % found.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(found[at])
    }
  }
  return (
    <Dialog title={t.title} close={close} size="lg">
      <TextInput
        aria-label={t.title}
        placeholder={t.placeholder}
        leftSection={<Icon name="search" />}
        value={text}
        onChange={event => setText(event.currentTarget.value)}
        onKeyDown={onKey}
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found[at] === undefined ? undefined : `${listId}-${at}`}
        data-autofocus
      />
      <div id={listId} role="listbox" aria-label={t.title} className={classes.list}>
        {found.map((command, i) => (
          <UnstyledButton
            key={command.id}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === at}
            tabIndex={-1}
            className={classes.option}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span>{command.label}</span>
          </UnstyledButton>
        ))}
      </div>
      {found.length === 0 && (
        <Text role="status" c="dimmed" py="sm">
          {t.nothing}
        </Text>
      )}
    </Dialog>
  )
}
