/** A command to copy. */
import { Button, Code, CopyButton } from '@mantine/core'
import { texts } from '../texts/texts.ts'
import classes from './command-line.module.css'

export function CommandLine({ label, command }: { readonly label: string; readonly command: string }) {
  return (
    <div className={classes.line} role="group" aria-label={label}>
      <Code className={classes.command}>{command}</Code>
      <CopyButton value={command}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" onClick={copy}>
            {copied ? texts.copied : texts.copy}
          </Button>
        )}
      </CopyButton>
    </div>
  )
}
