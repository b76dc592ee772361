/** Lifecycle rules as sentences, each with its buttons. */
import { Badge, Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { visibleText } from '../format.ts'
import { lifecycleSentences } from '../texts/lifecycle-sentences.ts'
import { rulesTexts } from '../texts/rules.ts'
import { NothingYet, RuleButtons, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import { lifecycleRuleElement, NEW_LIFECYCLE_RULE, readLifecycleRule, withStatus } from './lifecycle-document.ts'
import { LifecycleRuleDialog } from './lifecycle-rule-dialog.tsx'
import classes from './rules.module.css'
import { element, type XmlElement } from './xml-text.ts'

const t = rulesTexts.lifecycle

interface RuleProps {
  readonly rule: XmlElement
  readonly index: number
  readonly mayChange: boolean
  readonly edit: () => void
  /** Undefined removes the rule. */
  readonly replace: (rule: XmlElement | undefined) => void
}

function Rule({ rule, index, mayChange, edit, replace }: RuleProps) {
  const { form, unknown } = readLifecycleRule(rule)
  const name = form.id === '' ? rulesTexts.ruleNumber(index) : visibleText(form.id)
  const sentences = lifecycleSentences(form)
  const turn = form.isEnabled ? rulesTexts.turnOff : rulesTexts.turnOn
  return (
    <li className={classes.rule} aria-label={name}>
      <div className={classes.sentences}>
        {sentences.map(sentence => (
          <Text key={sentence}>{sentence}</Text>
        ))}
        {sentences.length === 0 && unknown.length === 0 && <Text>{t.noAction}</Text>}
        <Text size="sm" c="dimmed">
          {name} {!form.isEnabled && <Badge variant="default">{t.off}</Badge>}
        </Text>
        <UnknownElements names={unknown} />
      </div>
      {mayChange && (
        <RuleButtons {...{ name, unknown, edit }} remove={() => replace(undefined)}>
          <Button
            size="xs"
            variant="default"
            aria-label={`${turn}: ${name}`}
            onClick={() => replace(withStatus(rule, !form.isEnabled))}
          >
            {turn}
          </Button>
        </RuleButtons>
      )}
    </li>
  )
}

export function LifecycleForm({ bucket, root, change, mayChange }: RuleFormProps) {
  /** The position of the rule that is edited; after the last one for a new rule. */
  const [editing, setEditing] = useState<number>()
  const rules = root?.children ?? []
  const replace = (index: number, rule: XmlElement | undefined): void => {
    const left = rules.toSpliced(index, 1, ...(rule === undefined ? [] : [rule]))
    change(left.length === 0 ? undefined : element('LifecycleConfiguration', ...left))
  }
  const edited = editing === undefined ? undefined : rules[editing]
  const add = (): void => setEditing(rules.length)
  return (
    <Stack gap="sm" className={classes.whole} align="flex-start">
      {rules.length === 0 ? (
        <NothingYet icon="clock" texts={t} start={rulesTexts.add} onStart={add} mayChange={mayChange} />
      ) : (
        <ul className={`${classes.list} ${classes.whole}`} aria-label={rulesTexts.kinds.lifecycle}>
          {rules.map((rule, index) => (
            <Rule
              // biome-ignore lint/suspicious/noArrayIndexKey: a rule is known by its place alone.
              key={index}
              {...{ rule, index, mayChange }}
              edit={() => setEditing(index)}
              replace={changed => replace(index, changed)}
            />
          ))}
        </ul>
      )}
      {rules.length > 0 && mayChange && (
        <Button variant="default" onClick={add}>
          {rulesTexts.add}
        </Button>
      )}
      {editing !== undefined && (
        <LifecycleRuleDialog
          versioning={bucket.versioning}
          initial={edited === undefined ? NEW_LIFECYCLE_RULE : readLifecycleRule(edited).form}
          apply={form => {
            replace(editing, lifecycleRuleElement(form))
            setEditing(undefined)
          }}
          close={() => setEditing(undefined)}
        />
      )}
    </Stack>
  )
}
