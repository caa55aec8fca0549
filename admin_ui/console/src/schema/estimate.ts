const PIECES = / ?[A-Za-z]+|[0-9]{1,3}| ?[^\sA-Za-z0-9]+|\s+/g
const WHOLE_WORD_LENGTH = 10
const FIRST_CJK_LETTER = 0x2e80

/** Estimate how many tokens a text costs a model; the same rules as core/token_estimate.py. */
export function estimateTokens(text: string): number {
  let sum = 0
  for (const [piece] of text.matchAll(PIECES)) sum += estimatePiece(piece)
  return Math.round(sum)
}

function estimatePiece(piece: string): number {
  const letters = piece.trim()
  if (letters === '' || /^[0-9]/.test(letters)) return 1
  const codes = Array.from(letters, (letter) => letter.codePointAt(0)!)
  if (codes.some((code) => code > 127)) return codes.reduce((sum, code) => sum + (code >= FIRST_CJK_LETTER ? 0.62 : 0.6), 0)
  if (/^[A-Za-z]/.test(letters)) return letters.length <= WHOLE_WORD_LENGTH ? 1 : 1 + (letters.length - 5) / 8
  return Math.max(1, letters.length / 4)
}
