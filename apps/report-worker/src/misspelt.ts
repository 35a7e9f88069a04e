/**
 * Whether one slip of the fingers makes one word of the other: a letter too much, too little or wrong, or two in the wrong
 * order. What differs more may well be somebody else's word.
 */
export const isSlipOf = (typed: string, meant: string): boolean => {
  if (typed === meant) return false
  let i = 0
  while (typed[i] === meant[i]) i++
  const [a, b] = [typed.slice(i), meant.slice(i)]
  return (
    a.slice(1) === b ||
    a === b.slice(1) ||
    a.slice(1) === b.slice(1) ||
    (a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2))
  )
}
