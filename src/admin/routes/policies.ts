/** Routes for editors of policies: what a policy can say, and what is wrong with one. */
import { ACTIONS } from '../../rules/access/actions.ts'
import { CANNED_NAMES } from '../../rules/access/canned-policies.ts'
import { BUCKET_TAG, DERIVED_KEYS, EXISTING_TAG, REQUEST_KEYS, REQUEST_TAG } from '../../rules/access/condition-keys.ts'
import { CONDITION_OPERATORS } from '../../rules/access/conditions.ts'
import { isPublicPolicy, publicStatements } from '../../rules/access/is-public.ts'
import { actionNames } from '../../rules/access/names.ts'
import { policyProblems, readBucketPolicy, readIdentityPolicy } from '../../rules/access/policy.ts'
import { body, optionalField, policyDocument, textField } from '../input.ts'
import { route } from '../route.ts'
import { COUNT, listOf, objectOf, oneOfWords, TEXT, YES_OR_NO } from '../schemas.ts'

export const GetPolicyVocabulary = route({
  name: 'GetPolicyVocabulary',
  method: 'GET',
  path: '/v1/policies/vocabulary',
  summary: 'Get the actions, condition keys and canned policies that policies can name, for editors',
  permission: 'signed-in',
  input: {},
  answer: objectOf({
    actions: listOf(objectOf({ action: TEXT, on: oneOfWords('service', 'bucket', 'object') })),
    conditionKeys: listOf(TEXT),
    conditionTags: listOf(TEXT),
    operators: listOf(TEXT),
    canned: listOf(TEXT),
  }),
  run: async () => ({
    actions: [...ACTIONS].map(([action, { on }]) => ({ action: actionNames(action)[1], on })),
    conditionKeys: [...REQUEST_KEYS, ...DERIVED_KEYS],
    conditionTags: [EXISTING_TAG, REQUEST_TAG, BUCKET_TAG],
    operators: CONDITION_OPERATORS,
    canned: CANNED_NAMES,
  }),
})

const WHOLE_POLICY = {
  document: body(policyDocument, 'The policy'),
  bucket: optionalField(textField, 'The bucket whose policy it would be'),
}

export const ValidatePolicy = route({
  name: 'ValidatePolicy',
  method: 'POST',
  path: '/v1/policies/validate',
  summary: 'Validate a policy as a bucket policy, or without a bucket as a user policy',
  permission: 'signed-in',
  input: WHOLE_POLICY,
  answer: objectOf({ statements: COUNT, public: YES_OR_NO }),
  async run(_ctx, { document, bucket: name }) {
    const policy = name === undefined ? readIdentityPolicy(document) : readBucketPolicy(document, name)
    return { statements: policy.statements.length, public: name !== undefined && isPublicPolicy(policy) }
  },
})

const PROBLEM = objectOf({
  message: TEXT,
  path: {
    ...listOf({ oneOf: [TEXT, COUNT] }),
    description: 'Members and indexes that lead to the part; a single item may omit its brackets',
  },
})

export const CheckPolicy = route({
  name: 'CheckPolicy',
  method: 'POST',
  path: '/v1/policies/check',
  summary: 'List all problems of a policy with their positions, and the statements that make it public',
  permission: 'signed-in',
  input: WHOLE_POLICY,
  answer: objectOf({ problems: listOf(PROBLEM), publicStatements: listOf(COUNT) }),
  async run(_ctx, { document, bucket: name }) {
    const problems = policyProblems(document, name)
    const isOpen = problems.length === 0 && name !== undefined
    return { problems, publicStatements: isOpen ? publicStatements(readBucketPolicy(document, name)) : [] }
  },
})
