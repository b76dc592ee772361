/** The setup of every editor: looks by variables of the theme, keys, and no style without the nonce. */
import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { xml } from '@codemirror/lang-xml'
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { nextDiagnostic } from '@codemirror/lint'
import { EditorState, type Extension, StateEffect, StateField } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { styleNonce } from '../style-nonce.ts'
import classes from './code-editor.module.css'

export type Language = 'json' | 'xml'

export interface TextRange {
  readonly from: number
  readonly to: number
}

/** By the names of the parser's tags. */
const TOKEN_CLASSES: Readonly<Record<string, string | undefined>> = {
  propertyName: classes.name,
  tagName: classes.name,
  attributeName: classes.name,
  string: classes.text,
  attributeValue: classes.text,
  content: classes.text,
  number: classes.value,
  bool: classes.value,
  null: classes.value,
  blockComment: classes.comment,
}

const tokenClass = (tags: readonly { toString(): string }[]): string | null =>
  tags.map(tag => TOKEN_CLASSES[tag.toString()]).find(name => name !== undefined) ?? null

const looks = EditorView.theme({
  '&': {
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-md)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    fontSize: 'var(--mantine-font-size-sm)',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-color-anchor)', outlineOffset: '1px' },
  '.cm-scroller': {
    maxHeight: 'min(32rem, 60vh)',
    overflow: 'auto',
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '1.55',
  },
  '.cm-content, .cm-gutter': { minHeight: '6rem' },
  '.cm-content': { caretColor: 'var(--mantine-color-text)', padding: '0.5rem 0' },
  '.cm-gutters': {
    border: 'none',
    borderRadius: 'var(--mantine-radius-md) 0 0 var(--mantine-radius-md)',
    backgroundColor: 'var(--hf-surface)',
    color: 'var(--mantine-color-dimmed)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--hf-hover)', outline: '1px solid var(--hf-line)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--hf-removed)' },
  '.cm-specialChar': { color: 'var(--mantine-color-error)' },
  '.cm-tooltip': {
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-sm)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'inherit', maxHeight: 'none' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.2rem 0.5rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--mantine-primary-color-filled)',
    color: 'var(--mantine-color-white)',
  },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '1' },
})

export const setHighlight = StateEffect.define<TextRange | undefined>()

/** Whole lines are marked, so that the part stands out at a glance. */
function markedLines({ doc }: EditorState, range: TextRange | undefined): DecorationSet {
  if (range === undefined) return Decoration.none
  const [first, last] = [range.from, range.to].map(at => doc.lineAt(Math.min(at, doc.length)).number)
  const mark = Decoration.line({ class: classes.marked! })
  return Decoration.set(Array.from({ length: last! - first! + 1 }, (_, i) => mark.range(doc.line(first! + i).from)))
}

const highlighted = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { changes, effects, state }) {
    const effect = effects.find(one => one.is(setHighlight))
    return effect === undefined ? marks.map(changes) : markedLines(state, effect.value as TextRange | undefined)
  },
  provide: field => EditorView.decorations.from(field),
})

/** Tab is not bound: it leaves the editor, as it leaves every other field. */
export const commonSetup: Extension = [
  EditorView.cspNonce.of(styleNonce),
  looks,
  lineNumbers(),
  history(),
  bracketMatching(),
  closeBrackets(),
  indentOnInput(),
  highlightSpecialChars(),
  highlighted,
  syntaxHighlighting({ style: tokenClass }),
  EditorView.lineWrapping,
  keymap.of([
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...defaultKeymap,
    ...historyKeymap,
    { key: 'F8', run: nextDiagnostic },
  ]),
]

export const languageSetup = (language: Language): Extension => (language === 'json' ? json() : xml())

export const labelSetup = (label: string, isReadOnly: boolean): Extension => [
  EditorState.readOnly.of(isReadOnly),
  EditorView.contentAttributes.of({
    'aria-label': label,
    // Said explicitly for tools that do not know that editable content takes the focus.
    tabindex: '0',
    ...(isReadOnly ? { 'aria-readonly': 'true' } : {}),
  }),
]
