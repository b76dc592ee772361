/** Shown instead of a page that is for administrators. */
import { texts } from '../texts/texts.ts'
import { EmptyState } from './empty-state.tsx'

const t = texts.administratorsOnly

export const AdministratorsOnly = () => <EmptyState icon="user" title={t.title} text={t.text} />
