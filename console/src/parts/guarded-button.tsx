/** A button for something that policies may refuse. Refused, it stays reachable by keyboard and tells the reason. */
import { Button, type ButtonProps, Tooltip } from '@mantine/core'
import { type ComponentPropsWithRef, useId } from 'react'
import type { Permission } from '../api/permissions.ts'
import { texts } from '../texts/texts.ts'

type GuardedButtonProps = ButtonProps &
  Omit<ComponentPropsWithRef<'button'>, keyof ButtonProps> & { readonly permission: Permission }

export function GuardedButton({ permission, onClick, ...rest }: GuardedButtonProps) {
  const id = useId()
  if (!permission.isRefused) return <Button onClick={onClick} {...rest} />
  const reason = permission.reason ?? texts.notAllowed
  return (
    <Tooltip label={reason} events={{ hover: true, focus: true, touch: true }}>
      <span>
        <Button {...rest} variant="default" data-disabled aria-disabled="true" aria-describedby={id} />
        <span id={id} hidden>
          {reason}
        </span>
      </span>
    </Tooltip>
  )
}
