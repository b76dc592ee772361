/** The route that explains access decisions. */
import { Fault } from '../../model/faults.ts'
import { BUCKET_TAG, type ConditionContext, REQUEST_KEYS, REQUEST_TAG } from '../../rules/access/condition-keys.ts'
import { neutralKey } from '../../rules/access/names.ts'
import { body, booleanField, optionalField, textField, textMap } from '../input.ts'
import { explainWithPolicies } from '../permitted.ts'
import { route } from '../route.ts'
import { EXPLANATION_WITH_POLICIES } from '../schemas.ts'

const isOfRequest = (key: string): boolean =>
  (REQUEST_KEYS as readonly string[]).includes(key) || key.startsWith(REQUEST_TAG) || key.startsWith(BUCKET_TAG)

/** Values that the evaluator derives from the caller and the bucket cannot be given. */
function conditionContext(conditions: Readonly<Record<string, string>>): ConditionContext {
  return new Map(
    Object.entries(conditions).map(([name, value]) => {
      const key = neutralKey(name)
      if (key === undefined || !isOfRequest(key)) {
        const reason = `${name} is not a condition key of a request, such as aws:SourceIp`
        throw new Fault('InvalidArgument', { ArgumentName: 'conditions', reason })
      }
      return [key, [value]]
    }),
  )
}

export const Explain = route({
  name: 'Explain',
  method: 'POST',
  path: '/v1/explain',
  summary: 'Explain whether a request would be allowed, and why; without administrator rights only for oneself',
  permission: 'signed-in',
  input: {
    as: optionalField(textField, 'Access key of the caller, ACCOUNT/USER or ACCOUNT; absent for an anonymous caller'),
    action: body(textField, 'svc:DeleteObject, s3:DeleteObject or the bare name'),
    bucket: optionalField(textField, 'Bucket of the request'),
    key: optionalField(textField, 'Object key of the request'),
    versionId: optionalField(textField, 'Version of the request'),
    bypass: optionalField(booleanField, 'The request asks to bypass governance retention'),
    conditions: optionalField(textMap, 'Values of condition keys in the request, by their names in policies'),
  },
  answer: EXPLANATION_WITH_POLICIES,
  run: (ctx, { as, conditions = {}, ...question }) =>
    explainWithPolicies(ctx, as, { ...question, context: conditionContext(conditions) }),
})
