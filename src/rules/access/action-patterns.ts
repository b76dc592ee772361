/** Action patterns of policies: whether an action matches at all, and whether it fits the resources. */
import { ACTIONS, type ResourceType } from './actions.ts'
import { DOCUMENTED_ACTIONS } from './documented-actions.ts'
import { foldCase } from './fold-case.ts'
import { malformed } from './malformed.ts'
import { matches, type Pattern } from './wildcard.ts'

const OFFERED = Array.from(ACTIONS, ([action, { on }]): [string, ResourceType] => [foldCase(action), on])
const DOCUMENTED = Object.entries(DOCUMENTED_ACTIONS).flatMap(([on, names]) =>
  names.map((name): [string, ResourceType] => [foldCase(name), on as ResourceType]),
)
const KNOWN: readonly (readonly [string, ResourceType])[] = [...OFFERED, ...DOCUMENTED]

export const isAnyAction = (pattern: Pattern): boolean => KNOWN.some(([action]) => matches(pattern, action))

/** A pattern without a slash names the bucket; with a star it also names objects, since a star matches slashes. */
function names(resource: string, on: ResourceType): boolean {
  if (on === 'service') return resource === '*'
  return on === 'bucket' ? !resource.includes('/') : /[/*]/.test(resource)
}

/** Each action of a statement must apply to one of its resources, or the statement has no effect. */
export function checkActionsFit(actions: readonly Pattern[], resources: readonly string[]): void {
  for (const pattern of actions) {
    const fits = KNOWN.some(
      ([action, on]) => matches(pattern, action) && resources.some(resource => names(resource, on)),
    )
    if (!fits) throw malformed('Action does not apply to any resource(s) in statement')
  }
}
