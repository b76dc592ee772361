/** Corrupts texts and documents: mostly in one place, so that they still get far. */
import type { Dice } from './dice.ts'
import { oddNumber, oddValue } from './odd.ts'

type Spoil = (text: string, dice: Dice) => string

const at = (text: string, dice: Dice): number => dice.below(text.length + 1)

const TEXT: readonly (readonly [number, Spoil])[] = [
  [3, (text, dice) => text.slice(0, at(text, dice))],
  [3, (text, dice) => ((i: number) => text.slice(0, i) + oddValue(dice) + text.slice(i))(at(text, dice))],
  [3, (text, dice) => ((i: number) => text.slice(0, i) + text.slice(i + 1 + dice.size(20)))(at(text, dice))],
  [2, (text, dice) => flipped(text, dice)],
  [3, (text, dice) => text.replace(/\d+/, () => oddNumber(dice))],
  [1, (text, dice) => text + text.slice(at(text, dice))],
  [1, (text, dice) => (dice.chance(0.5) ? text.toUpperCase() : text.toLowerCase())],
  [4, (_, dice) => oddValue(dice)],
]

function flipped(text: string, dice: Dice): string {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length === 0) return text
  const place = dice.below(bytes.length)
  bytes[place] = bytes[place]! ^ (1 << dice.below(8))
  return bytes.toString('latin1')
}

export const spoilText: Spoil = (text, dice) => dice.weighed(TEXT)(text, dice)

const REPEATS_MAX = 3_000

const DOCTYPES = [
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  '<!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
  '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
  '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1/x"> %p;]>',
]

const MARKUP = [
  '<!-- a comment -->',
  '<!-- a -- b -->',
  '<![CDATA[<a>]]>',
  '<![CDATA[',
  '<?php x ?>',
  '&amp;',
  '&lt;a&gt;',
  '&#0;',
  '&#x110000;',
  '&#xd800;',
  '&#10;',
  '&nbsp;',
  '&a.b;',
  '&',
  '<a/>',
  '<__proto__>x</__proto__>',
  '<constructor/>',
  ' ',
  '\t\n',
  '\0',
  '\u00ff',
]

const escaped = (text: string): string => text.replace(/[<>&\0]/g, c => `&#${c.charCodeAt(0)};`)

/** Tags and the texts between them. */
const pieces = (text: string): string[] => text.split(/(<[^>]*>)/).filter(piece => piece !== '')

function withPiece(
  text: string,
  dice: Dice,
  change: (piece: string) => string,
  wanted: (piece: string) => boolean,
): string {
  const all = pieces(text)
  const places = all.flatMap((piece, index) => (wanted(piece) ? [index] : []))
  if (places.length === 0) return text
  const place = dice.pick(places)
  all[place] = change(all[place]!)
  return all.join('')
}

const isTag = (piece: string): boolean => piece.startsWith('<')
const isText = (piece: string): boolean => !isTag(piece)

/** Whole elements: from a start tag to its end tag. */
const ELEMENT = /<([A-Za-z]+)(?: [^>]*)?>(?:(?!<\1[ >]).)*?<\/\1>/gs

function withElement(text: string, dice: Dice, change: (element: string) => string): string {
  const found = [...text.matchAll(ELEMENT)]
  if (found.length === 0) return text
  const { 0: element, index } = dice.pick(found)
  return text.slice(0, index) + change(element) + text.slice(index + element.length)
}

const XML: readonly (readonly [number, Spoil])[] = [
  [5, (text, dice) => withPiece(text, dice, () => escaped(oddValue(dice)), isText)],
  [3, (text, dice) => withPiece(text, dice, piece => escaped(spoilText(piece, dice)), isText)],
  [3, (text, dice) => withElement(text, dice, () => '')],
  [3, (text, dice) => withElement(text, dice, element => element + element)],
  [1, (text, dice) => withElement(text, dice, element => element.repeat(dice.size(REPEATS_MAX)))],
  [2, (text, dice) => withElement(text, dice, element => `<a>${element}</a>`)],
  [
    2,
    (text, dice) =>
      withPiece(
        text,
        dice,
        piece => piece + dice.pick(MARKUP),
        () => true,
      ),
  ],
  [1, (text, dice) => withPiece(text, dice, () => '', isTag)],
  [
    1,
    (text, dice) =>
      withPiece(text, dice, piece => piece.replace(/^<(\w+)/, `<$1 a="${dice.below(9)}" b='&lt;'`), isTag),
  ],
  [1, (text, dice) => withPiece(text, dice, piece => piece.replace(/\w+/, name => `ns:${name}`), isTag)],
  [1, (text, dice) => dice.pick(DOCTYPES) + text],
  [1, (text, dice) => `<?xml version="1.0" encoding="${dice.pick(['UTF-8', 'UTF-16', 'latin1', ''])}"?>${text}`],
  [1, (text, dice) => '<a>'.repeat(dice.size(50_000)) + text],
  [1, text => Buffer.from(`\ufeff${text}`, 'utf16le').toString('latin1')],
  [1, text => `\u00ef\u00bb\u00bf${text}`],
  [1, text => text + text],
  [2, spoilText],
]

export const spoilXml: Spoil = (text, dice) => dice.weighed(XML)(text, dice)

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** The document with one value changed. */
function changed(value: Json, dice: Dice): Json {
  const isLeaf = typeof value !== 'object' || value === null
  if (isLeaf || dice.chance(0.2)) return replaced(value, dice)
  if (Array.isArray(value)) {
    const place = dice.below(value.length)
    return value.map((item, index) => (index === place ? changed(item, dice) : item))
  }
  const names = Object.keys(value)
  const chosen = dice.pick(names)
  const entries = names.map((name): [string, Json] => [
    name,
    name === chosen ? changed(value[name]!, dice) : value[name]!,
  ])
  if (dice.chance(0.1)) entries.push([oddValue(dice), true])
  return Object.fromEntries(entries)
}

const POLICY_WORDS = [
  'Deny',
  'Allow',
  '*',
  's3:*',
  'svc:Get?bject',
  'NotAction',
  `${'*a'.repeat(50)}`,
  '$'.concat('{svc:userid}'),
  '${aws:username',
  'arn:aws:s3:::canary/*',
  '0.0.0.0/0',
  '::/129',
]

function replaced(value: Json, dice: Dice): Json {
  return dice.pick<() => Json>([
    () => oddValue(dice),
    () => dice.pick(POLICY_WORDS),
    () => dice.below(100),
    () => null,
    () => [],
    () => ({}),
    () => [value, value],
    () => ({ [dice.pick(['StringEquals', 'NumericLessThan', 'DateEquals', 'Bool', 'Null', 'a'])]: value }),
    () => Array.from({ length: dice.size(2_000) }, () => value),
  ])()
}

export const spoilJson: Spoil = (text, dice) => {
  if (dice.chance(0.3)) return spoilText(text, dice)
  try {
    return Buffer.from(JSON.stringify(changed(JSON.parse(text) as Json, dice))).toString('latin1')
  } catch {
    return spoilText(text, dice)
  }
}

export function spoilBody(body: Buffer, dice: Dice): Buffer {
  const text = body.toString('latin1')
  const spoil = text.startsWith('<') ? spoilXml : text.startsWith('{') ? spoilJson : spoilText
  return Buffer.from(spoil(text, dice), 'latin1')
}
