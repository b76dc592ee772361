/** Actions as policies write them: which of them exist, and what they are about. */
import { ACTIONS, type On } from './actions.ts'
import { DOCUMENTED_ACTIONS } from './documented-actions.ts'
import { foldCase } from './fold-case.ts'
import { malformed } from './malformed.ts'
import { matches, type Pattern } from './wildcard.ts'

const OFFERED = Array.from(ACTIONS, ([action, { on }]): [string, On] => [foldCase(action), on])
const DOCUMENTED = Object.entries(DOCUMENTED_ACTIONS).flatMap(([on, names]) =>
  names.map((name): [string, On] => [foldCase(name), on as On]),
)
const KNOWN: readonly (readonly [string, On])[] = [...OFFERED, ...DOCUMENTED]

export const isAnyAction = (pattern: Pattern): boolean => KNOWN.some(([action]) => matches(pattern, action))

/** A pattern without a slash names the bucket; it names objects too if a star can take the slash in. */
function names(resource: string, on: On): boolean {
  if (on === 'service') return resource === '*'
  return on === 'bucket' ? !resource.includes('/') : /[/*]/.test(resource)
}

/** Each action of a statement must have something to apply to, or it does not do what it says. */
export function checkActionsFit(actions: readonly Pattern[], resources: readonly string[]): void {
  for (const pattern of actions) {
    const fits = KNOWN.some(
      ([action, on]) => matches(pattern, action) && resources.some(resource => names(resource, on)),
    )
    if (!fits) throw malformed('Action does not apply to any resource(s) in statement')
  }
}
