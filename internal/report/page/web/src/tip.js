// A text beside the element that the pointer or the keyboard is at: what data-tip says, such as the path of a file and a line.

// showTips shows the texts in a box.
export function showTips(box) {
  const show = (e) => {
    const on = e.target.closest?.("[data-tip]");
    box.hidden = !on;
    if (!on) return;
    box.textContent = on.dataset.tip;
    const at = on.getBoundingClientRect(), size = box.getBoundingClientRect();
    const below = at.bottom + 6 + size.height < innerHeight;
    box.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - size.width - 8))}px`;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", () => { box.hidden = true; });
  document.addEventListener("scroll", () => { box.hidden = true; }, true);
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") box.hidden = true; });
}
