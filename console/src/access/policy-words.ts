/** Puts a policy into words, one sentence per statement. */
import { policyTexts as t } from '../texts/policies.ts'

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])
const textsOf = (value: unknown): string[] => listOf(value).map(String)

const withoutArn = (resource: string): string => resource.replace(/^arn:(?:aws:s3|svc:svc):::/, '')

function principalWords(principal: string): string {
  const account = /^(?:arn:(?:aws|svc):iam::)?(\d{12})(?::root)?$/.exec(principal)
  const user = /^arn:(?:aws|svc):iam::(\d{12}):user\/(.+)$/s.exec(principal)
  if (principal === '*') return t.everyone
  if (account !== null) return t.account(account[1]!)
  return user === null ? principal : t.user(user[2]!, user[1]!)
}

const principalsIn = (value: unknown): string =>
  t.list((isObject(value) ? Object.values(value).flatMap(textsOf) : textsOf(value)).map(principalWords))

function who(statement: Json): string {
  if (statement.NotPrincipal !== undefined) return t.everyoneBut(principalsIn(statement.NotPrincipal))
  return statement.Principal === undefined ? t.thisUser : principalsIn(statement.Principal)
}

function choice(statement: Json, name: string, words: (text: string) => string): string {
  const opposite = statement[`Not${name}`]
  if (opposite !== undefined) return t.everythingBut(t.list(textsOf(opposite).map(words)))
  return t.list(textsOf(statement[name]).map(words))
}

function conditions(condition: unknown): string {
  if (!isObject(condition)) return ''
  const found = Object.entries(condition).flatMap(([operator, keys]) =>
    isObject(keys)
      ? Object.entries(keys).map(([key, values]) => t.condition(key, operator, t.list(textsOf(values))))
      : [],
  )
  return found.length === 0 ? '' : t.onlyIf(t.list(found))
}

function actionWords(action: string): string {
  const name = action.replace(/^(?:s3|svc):/i, '')
  return name === '*' ? t.everyAction : name
}

const resourceWords = (resource: string): string => (resource === '*' ? t.everything : withoutArn(resource))

function statementWords(statement: unknown): string {
  if (!isObject(statement)) return ''
  const sentence = statement.Effect === 'Deny' ? t.denies : t.allows
  const what = choice(statement, 'Action', actionWords)
  return sentence(who(statement), what, choice(statement, 'Resource', resourceWords)) + conditions(statement.Condition)
}

/** Nothing for a text that is no policy. */
export function policyWords(text: string): string[] {
  try {
    const policy: unknown = JSON.parse(text)
    return isObject(policy) ? listOf(policy.Statement).map(statementWords) : []
  } catch {
    return []
  }
}

/** Sentences that a change adds and removes. */
export function changeOfMeaning(before: readonly string[], after: readonly string[]) {
  return {
    added: after.filter(sentence => !before.includes(sentence)),
    removed: before.filter(sentence => !after.includes(sentence)),
  }
}
