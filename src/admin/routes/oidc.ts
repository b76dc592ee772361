/** Routes for signing in with OpenID Connect. The server runs them itself, since they have no caller. */
import { body, textField } from '../input.ts'
import { route } from '../route.ts'
import { objectOf, TEXT } from '../schemas.ts'
import { onlyOverHttp, SIGNED_IN } from './session.ts'

export const GetSignInOptions = route({
  name: 'GetSignInOptions',
  method: 'GET',
  path: '/v1/session/options',
  summary: 'Get the ways to sign in other than with an access key',
  permission: 'sign-in',
  answer: objectOf({
    'oidc?': { ...objectOf({ name: TEXT }), description: 'The issuer of OpenID Connect, when there is one' },
  }),
  input: {},
  run: onlyOverHttp,
})

export const BeginOidcSignIn = route({
  name: 'BeginOidcSignIn',
  method: 'POST',
  path: '/v1/session/oidc',
  summary: 'Begin to sign in with OpenID Connect: returns the address to send the browser to',
  permission: 'sign-in',
  answer: objectOf({ url: TEXT }),
  input: {},
  run: onlyOverHttp,
})

export const FinishOidcSignIn = route({
  name: 'FinishOidcSignIn',
  method: 'POST',
  path: '/v1/session/oidc/finish',
  summary: 'Begin a session with the parameters that the issuer returned to the browser',
  permission: 'sign-in',
  status: 201,
  answer: SIGNED_IN,
  input: { code: body(textField, 'The code'), state: body(textField, 'The state, as it was sent to the issuer') },
  run: onlyOverHttp,
})
