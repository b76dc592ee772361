/** Asks before showing a button whether the caller may do what it does, so that a refusal comes with its reason. */
import { useQuery } from '@tanstack/react-query'
import type { AdminApi } from './admin-api.ts'
import { call } from './client.ts'

export type Question = AdminApi['GetPermissions']['input']['questions'][number]

export interface Permission {
  /** Unknown counts as allowed: the object API decides anyway. */
  readonly isRefused: boolean
  readonly reason: string | undefined
}

type Answer = AdminApi['GetPermissions']['output']['answers'][number]

const OPEN: Permission = { isRefused: false, reason: undefined }

/** The explanation begins with the action in the neutral dialect; policies and pages write it as S3 does. */
const reasonIn = (text: string): string => text.replace(/^svc:/, 's3:')

/** A question may be about a folder, or an object that is yet to come; that there is none decides nothing. */
export const permissionOf = (answer: Answer | undefined): Permission =>
  answer?.verdict === 'refused' && answer.because !== 'missing'
    ? { isRefused: true, reason: reasonIn(answer.text) }
    : OPEN

export function usePermissions<N extends string>(questions: Readonly<Record<N, Question>>): Record<N, Permission> {
  const names = Object.keys(questions) as N[]
  const asked = names.map(name => questions[name])
  const { data } = useQuery({
    queryKey: ['permissions', asked],
    queryFn: ({ signal }) => call('GetPermissions', { questions: asked }, { signal }),
    staleTime: 60_000,
    enabled: asked.length > 0,
  })
  const permissions = names.map((name, i): [N, Permission] => {
    return [name, permissionOf(data?.answers[i])]
  })
  return Object.fromEntries(permissions) as Record<N, Permission>
}
