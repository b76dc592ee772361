/** CORS rules: what a form shows of one, the element that it writes, and whether rules allow a request. */
import { ElementReader, type FormReading, reading } from './element-reader.ts'
import { element, leaf, type XmlElement } from './xml-text.ts'

export interface CorsRuleForm {
  readonly id: string
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly headers: readonly string[]
  readonly exposed: readonly string[]
  readonly maxAge: string
}

export const CORS_METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] as const

export const NEW_CORS_RULE: CorsRuleForm = {
  id: '',
  origins: [],
  methods: ['GET', 'HEAD'],
  headers: [],
  exposed: [],
  maxAge: '',
}

export const readCorsRule = (rule: XmlElement): FormReading<CorsRuleForm> =>
  reading(unknown => {
    const known = ['ID', 'AllowedOrigin', 'AllowedMethod', 'AllowedHeader', 'ExposeHeader', 'MaxAgeSeconds']
    const reader = new ElementReader(rule, unknown, known)
    const methods = reader.texts('AllowedMethod')
    if (methods.some(method => !CORS_METHODS.some(known => known === method))) unknown.add('AllowedMethod')
    return {
      id: reader.text('ID'),
      origins: reader.texts('AllowedOrigin'),
      methods,
      headers: reader.texts('AllowedHeader'),
      exposed: reader.texts('ExposeHeader'),
      maxAge: reader.text('MaxAgeSeconds').trim(),
    }
  })

export function corsRuleElement({ id, origins, methods, headers, exposed, maxAge }: CorsRuleForm): XmlElement {
  const leaves = (name: string, texts: readonly string[]): XmlElement[] => texts.map(text => leaf(name, text))
  return element(
    'CORSRule',
    ...(id === '' ? [] : [leaf('ID', id)]),
    ...leaves('AllowedOrigin', origins),
    ...leaves('AllowedMethod', methods),
    ...leaves('AllowedHeader', headers),
    ...leaves('ExposeHeader', exposed),
    ...(maxAge === '' ? [] : [leaf('MaxAgeSeconds', maxAge)]),
  )
}

/** A star stands for any characters. */
function matches(pattern: string, text: string): boolean {
  const [before = '', after] = pattern.split(/\*(.*)/s)
  if (after === undefined) return pattern === text
  return text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after)
}

interface CorsQuestion {
  readonly origin: string
  readonly method: string
  readonly headers: readonly string[]
}

/** The position of the first rule that allows the request, as the server chooses it; -1 when none does. */
export function allowingRule(rules: readonly CorsRuleForm[], { origin, method, headers }: CorsQuestion): number {
  return rules.findIndex(rule => {
    if (!rule.methods.includes(method) || !rule.origins.some(pattern => matches(pattern, origin))) return false
    const patterns = rule.headers.map(header => header.toLowerCase())
    return headers.every(header => patterns.some(pattern => matches(pattern, header.toLowerCase())))
  })
}
