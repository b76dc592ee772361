/** Everything by keyboard: jump to a page, or run a command. */
import { Text, TextInput, UnstyledButton } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { paletteTexts as t } from '../texts/palette.ts'
import { wordsOf } from './asked-words.ts'
import type { Command } from './command.ts'
import classes from './command-palette.module.css'
import { useCommands } from './commands.ts'

const SHOWN_MAX = 40

const matches = (label: string, words: readonly string[]): boolean => words.every(word => label.includes(word))

export default function CommandPalette({ close }: { readonly close: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const listId = useId()
  const words = wordsOf(text)
  const { commands, isAsking } = useCommands(text)
  const all = commands.filter(({ label }) => matches(label.toLowerCase(), words))
  const found = all.slice(0, SHOWN_MAX)
  const at = Math.min(chosen, Math.max(0, found.length - 1))
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Some browsers return a promise, which is no clean-up of the effect.
    void list.current?.children[at]?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const type = (typed: string): void => {
    setText(typed)
    setChosen(0)
  }
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
        onChange={event => type(event.currentTarget.value)}
        onKeyDown={onKey}
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found[at] === undefined ? undefined : `${listId}-${at}`}
        data-autofocus
      />
      <div ref={list} id={listId} role="listbox" aria-label={t.title} className={classes.list}>
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
      <Text role="status" c="dimmed" size="sm" pt="sm">
        {found.length === 0 && (isAsking ? t.searching : t.nothing)}
        {all.length > found.length && t.more(all.length - found.length)}
      </Text>
    </Dialog>
  )
}
