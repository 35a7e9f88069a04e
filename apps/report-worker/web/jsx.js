// the functions that stand for JSX, in every file
export { Fragment, h } from "preact"
