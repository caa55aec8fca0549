import { type PointerEvent, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'
import { type GraphLayout, MARGIN, NODE_WIDTH } from './layout.ts'

export const SMALLEST = 0.25
export const LARGEST = 2
const STEP = 1.25
/** Below this, names of items are no larger than the smallest text of a page. */
const READABLE = 0.8
/** A press that moves less is a click. */
const DRAG = 4

/**
 * The size of a picture in a frame that scrolls: it begins as large as it can be read, with its first layer in sight, and
 * is moved by scrolling or dragging.
 */
export function usePicture({ width, height, places }: GraphLayout) {
  const frame = useRef<HTMLDivElement>(null)
  const [scale, setScale] = useState(1)
  const drag = useRef<{ x: number; y: number; left: number; top: number } | null>(null)
  const dragged = useRef(false)
  /** Where in the picture the middle of the frame is to be after it was drawn in another size. */
  const kept = useRef<{ x: number; y: number } | null>(null)

  const resize = (next: number) => {
    const { current } = frame
    if (!current) return
    kept.current = {
      x: (current.scrollLeft + current.clientWidth / 2) / scale,
      y: (current.scrollTop + current.clientHeight / 2) / scale,
    }
    setScale(Math.min(LARGEST, Math.max(SMALLEST, next)))
  }
  useLayoutEffect(() => {
    const { current } = frame
    if (!current || !kept.current) return
    current.scrollLeft = kept.current.x * scale - current.clientWidth / 2
    current.scrollTop = kept.current.y * scale - current.clientHeight / 2
    kept.current = null
  }, [scale])

  const begin = useEffectEvent(() => {
    const { current } = frame
    if (!current) return
    const middle = [...places.values()].find((place) => place.layer === 0)
    kept.current = { x: current.clientWidth / 2 - MARGIN, y: height / 2 }
    if (middle && middle.x > current.clientWidth) kept.current.x = middle.x + NODE_WIDTH / 2
    setScale(Math.min(1, Math.max(READABLE, measureFit(current, width, height))))
    current.scrollTop = (height - current.clientHeight) / 2
  })
  useLayoutEffect(() => begin(), [width, height])

  // React's own listener is passive, and the page would be zoomed as well.
  const zoomByWheel = useEffectEvent((event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return
    event.preventDefault()
    resize(event.deltaY < 0 ? scale * STEP : scale / STEP)
  })
  useEffect(() => {
    const { current } = frame
    const listener = (event: WheelEvent) => zoomByWheel(event)
    current?.addEventListener('wheel', listener, { passive: false })
    return () => current?.removeEventListener('wheel', listener)
  }, [])

  return {
    frame,
    scale,
    /** A step larger or smaller. */
    zoom: (direction: number) => resize(direction > 0 ? scale * STEP : scale / STEP),
    fit: () => frame.current && resize(Math.min(1, measureFit(frame.current, width, height))),
    handlers: {
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        if (event.pointerType !== 'mouse' || event.button !== 0) return
        const { scrollLeft: left, scrollTop: top } = event.currentTarget
        drag.current = { x: event.clientX, y: event.clientY, left, top }
        dragged.current = false
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        const { current } = drag
        if (!current) return
        const [x, y] = [event.clientX - current.x, event.clientY - current.y]
        if (!dragged.current && Math.abs(x) + Math.abs(y) < DRAG) return
        if (!dragged.current) event.currentTarget.setPointerCapture(event.pointerId)
        dragged.current = true
        event.currentTarget.scrollTo(current.left - x, current.top - y)
      },
      onPointerUp: () => {
        drag.current = null
      },
      onClickCapture: (event: { preventDefault: () => void; stopPropagation: () => void }) => {
        if (!dragged.current) return
        dragged.current = false
        event.preventDefault()
        event.stopPropagation()
      },
    },
  }
}

/** The size in which all of a picture is in sight: the frame becomes as high as it may. */
function measureFit(frame: HTMLElement, width: number, height: number): number {
  const most = parseFloat(getComputedStyle(frame).maxHeight)
  return Math.min(frame.clientWidth / width, (Number.isNaN(most) ? frame.clientHeight : most) / height)
}
