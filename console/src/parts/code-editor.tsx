/**
 * An editor for JSON and XML documents. Load it lazily: `lazy(() => import('../parts/code-editor.tsx'))`. Problems are
 * underlined and listed below the text, so that they can be read without a pointer.
 */
import { autocompletion, type CompletionSource } from '@codemirror/autocomplete'
import { type Diagnostic, forEachDiagnostic, linter, setDiagnostics, setDiagnosticsEffect } from '@codemirror/lint'
import { Annotation, Compartment } from '@codemirror/state'
import { EditorView, type ViewUpdate } from '@codemirror/view'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { codeEditorTexts as t } from '../texts/code-editor.ts'
import classes from './code-editor.module.css'
import {
  commonSetup,
  type Language,
  labelSetup,
  languageSetup,
  setHighlight,
  type TextRange,
} from './code-editor-setup.ts'

interface CodeEditorProps {
  /** The accessible name. */
  readonly label: string
  readonly value: string
  readonly onChange?: (value: string) => void
  readonly language: Language
  readonly readOnly?: boolean
  /** A function is asked a moment after each change; whether there is one must not change. */
  readonly diagnostics?: readonly Diagnostic[] | ((text: string) => Promise<readonly Diagnostic[]>)
  /** Whether there is one must not change. */
  readonly completions?: CompletionSource
  readonly highlight?: TextRange
}

const LINT_DELAY_MS = 300
/** As many as are seen at once: the list has no focus, so that it must not scroll. */
const OFFERS_MAX = 8
const fromOutside = Annotation.define<boolean>()

interface Problem extends Diagnostic {
  readonly line: number
}

function problemsIn({ state }: ViewUpdate): Problem[] {
  const found: Problem[] = []
  forEachDiagnostic(state, (one, from, to) => found.push({ ...one, from, to, line: state.doc.lineAt(from).number }))
  return found
}

/** Creates the editor once; everything that may change later is applied by its own effect. */
function useEditor(props: CodeEditorProps, show: (problems: Problem[]) => void) {
  const { label, value, language, readOnly = false, diagnostics, highlight } = props
  const host = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<EditorView>()
  const [settings] = useState(() => new Compartment())
  const setup = () => [languageSetup(language), labelSetup(label, readOnly)]

  const update = useEffectEvent((change: ViewUpdate) => {
    const isTyped = change.transactions.some(one => one.docChanged && one.annotation(fromOutside) === undefined)
    if (isTyped) props.onChange?.(change.state.doc.toString())
    const isLinted = change.transactions.some(one => one.effects.some(effect => effect.is(setDiagnosticsEffect)))
    if (isLinted) show(problemsIn(change))
  })
  const lint = useEffectEvent(async (text: string) => (typeof diagnostics === 'function' ? diagnostics(text) : []))
  const complete = useEffectEvent<CompletionSource>(context => props.completions?.(context) ?? null)

  const create = useEffectEvent(
    () =>
      new EditorView({
        parent: host.current!,
        doc: value,
        extensions: [
          commonSetup,
          settings.of(setup()),
          EditorView.updateListener.of(change => update(change)),
          typeof diagnostics === 'function'
            ? linter(({ state }) => lint(state.doc.toString()), { delay: LINT_DELAY_MS })
            : [],
          props.completions === undefined
            ? []
            : autocompletion({
                icons: false,
                maxRenderedOptions: OFFERS_MAX,
                override: [context => complete(context)],
              }),
        ],
      }),
  )
  useEffect(() => {
    const created = create()
    setView(created)
    return () => created.destroy()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the setup is made of these.
  useEffect(() => view?.dispatch({ effects: settings.reconfigure(setup()) }), [view, label, language, readOnly])
  useEffect(() => {
    if (view === undefined || view.state.doc.toString() === value) return
    view.dispatch({
      changes: { from: 0, to: view.state.doc.length, insert: value },
      annotations: fromOutside.of(true),
    })
  }, [view, value])
  useEffect(() => {
    if (view === undefined || diagnostics === undefined || typeof diagnostics === 'function') return
    const end = view.state.doc.length
    const inside = diagnostics.map(one => ({ ...one, from: Math.min(one.from, end), to: Math.min(one.to, end) }))
    view.dispatch(setDiagnostics(view.state, inside))
  }, [view, diagnostics])
  const [from, to] = [highlight?.from, highlight?.to]
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is marked anew.
  useEffect(() => {
    if (view === undefined) return
    if (from === undefined || to === undefined) return view.dispatch({ effects: setHighlight.of(undefined) })
    const scroll = EditorView.scrollIntoView(Math.min(from, view.state.doc.length))
    view.dispatch({ effects: [setHighlight.of({ from, to }), scroll] })
  }, [view, from, to, value])
  return { host, view }
}

export default function CodeEditor(props: CodeEditorProps) {
  const [problems, setProblems] = useState<readonly Problem[]>([])
  const { host, view } = useEditor(props, setProblems)
  const goTo = ({ from, to }: TextRange): void => {
    view?.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true })
    view?.focus()
  }
  return (
    <div className={classes.editor}>
      <div ref={host} />
      <div role="status">
        {problems.length > 0 && (
          <ul className={classes.problems} aria-label={t.problems(props.label)}>
            {problems.map(problem => (
              <li key={`${problem.from} ${problem.message}`} className={classes.problem}>
                <button type="button" className={classes.line} onClick={() => goTo(problem)}>
                  {t.atLine(problem.line)}
                </button>
                <span className={problem.severity === 'error' ? classes.error : undefined}>{problem.message}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
