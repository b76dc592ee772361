/**
 * Shows an error of a page in its place, so that the rest of the console goes on. A part of the console that cannot be
 * loaded, since the server was upgraded meanwhile, ends here, too.
 */
import { Component, type ReactNode } from 'react'
import classes from '../pages/page.module.css'
import { texts } from '../texts/texts.ts'
import { PageHead } from './page-head.tsx'
import { Problem } from './problem.tsx'

interface ErrorBoundaryProps {
  /** Another address is another try. */
  readonly address: string
  readonly children: ReactNode
}

interface State {
  readonly isBroken: boolean
  readonly cause?: unknown
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, State> {
  override state: State = { isBroken: false }

  static getDerivedStateFromError(cause: unknown): State {
    return { isBroken: true, cause }
  }

  override componentDidUpdate({ address }: ErrorBoundaryProps): void {
    if (address !== this.props.address && this.state.isBroken) this.setState({ isBroken: false })
  }

  override render(): ReactNode {
    const { isBroken, cause } = this.state
    if (!isBroken) return this.props.children
    const error = new Error(texts.errors.broken, { cause })
    return (
      <div className={classes.page}>
        <PageHead title={texts.errors.brokenTitle} />
        <Problem error={error} retry={() => window.location.reload()} />
      </div>
    )
  }
}
