/** The form that every visit begins with. */
import { texts } from '../texts/texts.ts'
import classes from './sign-in.module.css'
import { SignInForm } from './sign-in-form.tsx'

const t = texts.signIn

export const SignInPage = ({ hasEnded }: { readonly hasEnded: boolean }) => (
  <main className={classes.page}>
    <SignInForm title={t.title} notice={hasEnded ? t.ended : undefined} />
  </main>
)
