/** Tags, or other pairs, as rows of a name and a value. */
import { ActionIcon, Button, Input, TextInput } from '@mantine/core'
import { Icon } from '../parts/icons.tsx'
import { rulesTexts } from '../texts/rules.ts'
import type { TagPairs } from './lifecycle-document.ts'
import classes from './rules.module.css'

interface PairWords {
  readonly name: string
  readonly value: string
  readonly nameOf: (index: number) => string
  readonly valueOf: (index: number) => string
  readonly add: string
  readonly remove: (index: number) => string
}

interface TagRowsProps {
  readonly label: string
  readonly tags: TagPairs
  readonly change: (tags: TagPairs) => void
  readonly isDisabled: boolean
  readonly words?: PairWords
}

export function TagRows({ label, tags, change, isDisabled, words: t = rulesTexts.tags }: TagRowsProps) {
  const set = (index: number, pair: readonly [string, string]): void => change(tags.with(index, pair))
  return (
    <fieldset className={classes.group}>
      <Input.Label component="legend">{label}</Input.Label>
      {tags.map(([name, value], i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is known by its place alone.
        <div key={i} className={classes.tag}>
          <TextInput
            aria-label={t.nameOf(i)}
            placeholder={t.name}
            value={name}
            disabled={isDisabled}
            onChange={event => set(i, [event.currentTarget.value, value])}
          />
          <TextInput
            aria-label={t.valueOf(i)}
            placeholder={t.value}
            value={value}
            disabled={isDisabled}
            onChange={event => set(i, [name, event.currentTarget.value])}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t.remove(i)}
            disabled={isDisabled}
            onClick={() => change(tags.toSpliced(i, 1))}
          >
            <Icon name="close" />
          </ActionIcon>
        </div>
      ))}
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="plus" size={14} />}
        disabled={isDisabled}
        onClick={() => change([...tags, ['', '']])}
      >
        {t.add}
      </Button>
    </fieldset>
  )
}
