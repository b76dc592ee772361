/**
 * Policy text with variables: `${username}` stands for the caller's name. Values of variables are literal: a star in
 * a user's name is no wildcard.
 */
import { type ConditionContext, isVariable } from './condition-keys.ts'
import { malformed } from './malformed.ts'
import { neutralKey } from './names.ts'
import { compile, literalTokens, matches, type Pattern, type Tokens, wildcardTokens } from './wildcard.ts'

type Part = Tokens | { readonly variable: string }

export interface Template {
  /** The parts to assemble for each request; empty when there is no variable. */
  readonly parts: readonly Part[]
  /** Compiled in advance when there is no variable. */
  readonly pattern: Pattern | undefined
}

interface Reading {
  /** Whether `*` and `?` are wildcards. */
  readonly wildcards: boolean
  /** Whether `${…}` is a variable: the older policy version takes it literally. */
  readonly variables: boolean
}

const VARIABLE = /\$\{([^}]*)\}/g
/** `${*}` is a literal star. */
const ESCAPED = new Set(['*', '?', '$'])

export function readTemplate(text: string, { wildcards, variables }: Reading): Template {
  const tokens = wildcards ? wildcardTokens : literalTokens
  if (!variables || !text.includes('${')) {
    return { parts: [], pattern: compile(tokens(text)) }
  }
  const parts: Part[] = []
  let at = 0
  for (const match of text.matchAll(VARIABLE)) {
    parts.push(tokens(text.slice(at, match.index)))
    parts.push(readVariable(match[1]!))
    at = match.index + match[0].length
  }
  const rest = text.slice(at)
  if (rest.includes('${')) throw malformed('A policy variable is not closed')
  parts.push(tokens(rest))
  const isFixed = parts.every(part => !('variable' in part))
  return isFixed ? { parts: [], pattern: compile((parts as Tokens[]).flat()) } : { parts, pattern: undefined }
}

function readVariable(name: string): Part {
  if (ESCAPED.has(name)) return literalTokens(name)
  const key = neutralKey(name)
  if (key === undefined || !isVariable(key)) throw malformed(`Unknown policy variable: ${name}`)
  return { variable: key }
}

/** The pattern for one request; undefined when a variable has no value in it. */
export function resolve(template: Template, context: ConditionContext): Pattern | undefined {
  if (template.pattern !== undefined) return template.pattern
  const tokens: number[] = []
  for (const part of template.parts) {
    if (!('variable' in part)) {
      tokens.push(...part)
      continue
    }
    const values = context.get(part.variable)
    if (values?.length !== 1) return undefined
    tokens.push(...literalTokens(values[0]!))
  }
  return compile(tokens)
}

/** A template whose variables have no value matches nothing. */
export function templateMatches(template: Template, text: string, context: ConditionContext): boolean {
  const pattern = resolve(template, context)
  return pattern !== undefined && matches(pattern, text)
}
