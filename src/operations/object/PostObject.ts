import type { XmlWriter } from '../../lib/xml-writer.ts'
import type { Version } from '../../model/version.ts'
import { quotedEtag } from '../../rules/conditional-requests.ts'
import type { Header, OperationContext } from '../context.ts'
import { type OperationResponse, operation, writePrecondition } from '../operation.ts'
import { checksumHeaders, newObjectInputs, newObjectPermissions, newVersionHeaders, tagSet } from './attributes.ts'
import { putObject } from './PutObject.ts'

/** Where the browser is redirected after the upload; an invalid URL is ignored. */
function redirectOf({ request, target }: OperationContext, version: Version): string | undefined {
  const sent = request.header('success_action_redirect')
  if (sent === undefined || !/^https?:\/\//i.test(sent) || !URL.canParse(sent)) return undefined
  const url = new URL(sent)
  url.searchParams.append('bucket', target.bucket)
  url.searchParams.append('key', target.key)
  url.searchParams.append('etag', quotedEtag(version.etag))
  return url.href
}

const created = ({ target, location }: OperationContext, version: Version) => ({
  root: 'PostResponse',
  write(to: XmlWriter) {
    to.leaf('Location', location)
    to.leaf('Bucket', target.bucket)
    to.leaf('Key', target.key)
    to.leaf('ETag', quotedEtag(version.etag))
  },
})

async function formResponse(ctx: OperationContext, version: Version): Promise<OperationResponse> {
  const headers: Header[] = [...(await newVersionHeaders(ctx, version)), ...checksumHeaders(version)]
  const redirect = redirectOf(ctx, version)
  if (redirect !== undefined) return { status: 303, headers: [...headers, ['location', redirect]] }
  const status = ctx.request.header('success_action_status')
  const located: Header[] = [...headers, ['location', ctx.location]]
  if (status === '201') return { status: 201, headers: located, body: created(ctx, version) }
  return { status: status === '200' ? 200 : 204, headers: located }
}

/** 2.4. A browser upload: a form whose fields replace headers. */
export const PostObject = operation({
  name: 'PostObject',
  match: { method: 'POST', on: 'bucket' },
  permission: newObjectPermissions,
  takesForm: true,
  createsObject: true,
  storesTagsAndLock: true,
  input: { ...newObjectInputs, tags: tagSet, precondition: writePrecondition },
  async run(ctx, input) {
    return formResponse(ctx, await putObject(ctx, input, undefined))
  },
})
