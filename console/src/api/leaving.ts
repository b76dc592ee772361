/** Parts that remember what a person did forget it here, so that the next person in this tab does not see it. */
const forgets = new Set<() => void>()

export function whenPersonLeaves(forget: () => void): void {
  forgets.add(forget)
}

export function personLeaves(): void {
  for (const forget of forgets) forget()
}
