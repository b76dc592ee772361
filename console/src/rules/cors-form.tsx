/** CORS rules as a list, and a check of a request against them. */
import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { visibleText } from '../format.ts'
import { rulesTexts } from '../texts/rules.ts'
import { CorsCheck } from './cors-check.tsx'
import { type CorsRuleForm, corsRuleElement, NEW_CORS_RULE, readCorsRule } from './cors-document.ts'
import { CorsRuleDialog } from './cors-rule-dialog.tsx'
import { Hint, NothingYet, RuleButtons, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import classes from './rules.module.css'
import { element, type XmlElement } from './xml-text.ts'

const t = rulesTexts.cors

function Sentences({ form }: { readonly form: CorsRuleForm }) {
  const { methods, origins, headers, exposed } = form
  return (
    <>
      <Text>{visibleText(t.sentence(methods, origins))}</Text>
      {headers.length > 0 && <Hint>{visibleText(t.headersSentence(headers))}</Hint>}
      {exposed.length > 0 && <Hint>{visibleText(t.exposedSentence(exposed))}</Hint>}
    </>
  )
}

export function CorsForm({ root, change, mayChange }: RuleFormProps) {
  /** The position of the rule that is edited; after the last one for a new rule. */
  const [editing, setEditing] = useState<number>()
  const rules = root?.children ?? []
  const readings = rules.map(readCorsRule)
  const replace = (index: number, rule: XmlElement | undefined): void => {
    const left = rules.toSpliced(index, 1, ...(rule === undefined ? [] : [rule]))
    change(left.length === 0 ? undefined : element('CORSConfiguration', ...left))
  }
  const add = (): void => setEditing(rules.length)
  const names = readings.map(({ form: { id } }, i) => (id === '' ? rulesTexts.ruleNumber(i) : visibleText(id)))
  return (
    <Stack gap="sm" className={classes.whole} align="flex-start">
      {rules.length === 0 ? (
        <NothingYet icon="share" texts={t} start={rulesTexts.add} onStart={add} mayChange={mayChange} />
      ) : (
        <ul className={`${classes.list} ${classes.whole}`} aria-label={rulesTexts.kinds.cors}>
          {readings.map(({ form, unknown }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a rule is known by its place alone.
            <li key={i} className={classes.rule} aria-label={names[i]}>
              <div className={classes.sentences}>
                <Sentences form={form} />
                <Hint>{names[i]}</Hint>
                <UnknownElements names={unknown} />
              </div>
              {mayChange && (
                <RuleButtons
                  name={names[i]!}
                  unknown={unknown}
                  edit={() => setEditing(i)}
                  remove={() => replace(i, undefined)}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {rules.length > 0 && mayChange && (
        <Button variant="default" onClick={add}>
          {rulesTexts.add}
        </Button>
      )}
      {rules.length > 0 && <CorsCheck rules={readings.map(({ form }) => form)} names={names} />}
      {editing !== undefined && (
        <CorsRuleDialog
          initial={readings[editing]?.form ?? NEW_CORS_RULE}
          apply={form => {
            replace(editing, corsRuleElement(form))
            setEditing(undefined)
          }}
          close={() => setEditing(undefined)}
        />
      )}
    </Stack>
  )
}
