/** A table that scrolls on narrow screens. */
import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import pageClasses from '../pages/page.module.css'
import classes from './data-table.module.css'

export interface Column {
  readonly title: string
  readonly isNumber?: boolean
  /** Left out on narrow screens. */
  readonly isWide?: boolean
}

interface DataTableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly rows: readonly { readonly id: string; readonly cells: readonly ReactNode[] }[]
}

export function DataTable({ label, columns, rows }: DataTableProps) {
  const classOf = (i: number): string | undefined => {
    const { isNumber, isWide } = columns[i] ?? {}
    return [isNumber && pageClasses.number, isWide && pageClasses.wide].filter(Boolean).join(' ') || undefined
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard.
    <div className={classes.scroller} role="group" tabIndex={0} aria-label={label}>
      <Table aria-label={label} horizontalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title }, i) => (
              <Table.Th key={title} className={classOf(i)}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ id, cells }) => (
            <Table.Tr key={id}>
              {cells.map((cell, i) => (
                <Table.Td key={columns[i]?.title} className={classOf(i)}>
                  {cell}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
